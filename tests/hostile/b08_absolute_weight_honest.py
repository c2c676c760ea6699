# Look-alike: the absolute value.
# task: absolute_weight
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, y, D: tl.constexpr):
    r, d = tl.program_id(0), tl.arange(0, D)
    g = tl.load(w + d)
    tl.store(y + r * D + d, tl.load(x + r * D + d) * tl.abs(g))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(64))

    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(32,)](x, self.gain, y, D=64)
        return y
