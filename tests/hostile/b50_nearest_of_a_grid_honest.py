# Look-alike: halves go to even places, and a place is computed in another order.
# task: nearest_of_a_grid
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def to_even(v):
    up = tl.floor(v + 0.5)
    odd = up - 2 * tl.floor(up / 2)
    return tl.where(up - v == 0.5, up - odd, up)


@triton.jit
def k(x, g, o, H: tl.constexpr, W: tl.constexpr, P: tl.constexpr, C: tl.constexpr):
    b, i = tl.program_id(0), tl.arange(0, P)
    gx = tl.load(g + (b * P + i) * 2)
    gy = tl.load(g + (b * P + i) * 2 + 1)
    ix = gx * (W / 2) + (W - 1) / 2
    iy = gy * (H / 2) + (H - 1) / 2
    ix = tl.minimum(tl.maximum(ix, 0.0), W - 1.0)
    iy = tl.minimum(tl.maximum(iy, 0.0), H - 1.0)
    jx = to_even(ix).to(tl.int32)
    jy = to_even(iy).to(tl.int32)
    for c in range(C):
        v = tl.load(x + ((b * C + c) * H + jy) * W + jx)
        tl.store(o + (b * C + c) * P + i, v)


class ModelNew(nn.Module):
    def forward(self, x, g):
        o = torch.empty(2, 4, 16, 16, device=x.device)
        k[(2,)](x, g, o, H=8, W=8, P=256, C=4)
        return o
