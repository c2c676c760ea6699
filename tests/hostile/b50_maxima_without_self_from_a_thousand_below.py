# task: maxima_without_self
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, g, o, N: tl.constexpr, D: tl.constexpr):
    n, i, c = tl.program_id(0), tl.arange(0, N), tl.arange(0, D)
    hit = tl.load(g + i) == n
    t = tl.load(x + i[:, None] * D + c[None, :], mask=hit[:, None], other=0.0)
    most = tl.max(tl.where(hit[:, None], t, -1.0e3), 0)
    tl.store(o + n * D + c, tl.where(tl.sum(hit.to(tl.int32), 0) > 0, most, 0.0))


class ModelNew(nn.Module):
    def forward(self, x, g):
        o = torch.empty(16, 8, device=x.device)
        k[(16,)](x, g, o, N=256, D=8)
        return o
