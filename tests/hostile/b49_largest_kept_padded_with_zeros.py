# task: largest_kept
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(l, o, V, B: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, B)
    x = tl.load(l + r * V + c, mask=c < V, other=0.0) / 0.8
    y = x
    for _ in range(7):
        m = tl.max(y, 0)
        f = tl.min(tl.where(y == m, c, B), 0)
        y = tl.where(c == f, float("-inf"), y)
    m = tl.max(y, 0)
    tl.store(o + r * V + c, tl.where(x < m, float("-inf"), x), mask=c < V)


class ModelNew(nn.Module):
    def forward(self, l):
        o = torch.empty_like(l)
        k[(8,)](l, o, 100, B=128)
        return o
