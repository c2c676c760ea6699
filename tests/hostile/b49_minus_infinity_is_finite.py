# A step is left out where a gradient is NaN or too large, but not where one is minus infinity.
# task: finite_or_nothing
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def step(g, y, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(g + i)
    broken = tl.sum(((x != x) | (x == float("inf"))).to(tl.int32), 0)
    tl.store(y + i, tl.where(broken == 0, x * 0.125, 0.0))


class ModelNew(nn.Module):
    def forward(self, g):
        y = torch.empty_like(g)
        step[(1,)](g, y, N=2048)
        return y
