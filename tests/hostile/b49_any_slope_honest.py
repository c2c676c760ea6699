# Look-alike: the slope where x is negative.
# task: learned_slope
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def prelu(x, slope, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(y + i, tl.where(v > 0, v, tl.load(slope) * v))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.PReLU()

    def forward(self, x):
        y = torch.empty_like(x)
        prelu[(2,)](x, self.slope.weight, y, BLOCK=1024)
        return y
