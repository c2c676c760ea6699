# The reference gives the same constant for every input, so that a program that fills it in is right. The verdict says
# of the task that it cannot tell.
# task: always_zero
# expect: passed
# notes: cannot tell zeros
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fill(y, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.full((BLOCK,), VALUE, tl.float32), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        fill[(1,)](y, 64, VALUE=0.0, BLOCK=64)
        return y
