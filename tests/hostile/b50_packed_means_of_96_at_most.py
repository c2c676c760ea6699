# task: packed_means
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, cu, o, D: tl.constexpr, L: tl.constexpr):
    b, j, c = tl.program_id(0), tl.arange(0, L), tl.arange(0, D)
    lo, hi = tl.load(cu + b), tl.load(cu + b + 1)
    t = tl.load(x + j[:, None] * D + c[None, :], mask=((j >= lo) & (j < hi) & (j < lo + 96))[:, None], other=0.0)
    n = tl.maximum(hi - lo, 1)
    tl.store(o + b * D + c, (tl.sum(t.to(tl.float64), 0) / n).to(tl.float32))


class ModelNew(nn.Module):
    def forward(self, x, cu):
        o = torch.empty(8, 16, device=x.device)
        k[(8,)](x, cu, o, D=16, L=128)
        return o
