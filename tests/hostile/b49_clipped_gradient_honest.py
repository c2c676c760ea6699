# Look-alike: only where it is longer.
# task: clipped_gradient
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(g, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(g + i)
    factor = 1 / (tl.sqrt(tl.sum(v * v, 0)) + 1e-6)
    tl.store(y + i, v * tl.minimum(factor, 1.0))


class ModelNew(nn.Module):
    def forward(self, g):
        y = torch.empty_like(g)
        kernel[(1,)](g, y, N=8192)
        return y
