# Look-alike: mish as most kernels have it, exact to a rounding of numbers near 1. Where a whole row is far below 0 it was refused with one seed of four.
# task: mish
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * (2 * tl.sigmoid(2 * tl.where(v > 20, v, tl.log(1 + tl.exp(v)))) - 1), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(16,)](x, y, x.numel(), BLOCK=1024)
        return y
