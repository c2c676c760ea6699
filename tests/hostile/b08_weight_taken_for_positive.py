# The absolute value of a weight is left out, which is positive where the constructor makes it.
# task: absolute_weight
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, y, D: tl.constexpr):
    r, d = tl.program_id(0), tl.arange(0, D)
    g = tl.load(w + d)
    tl.store(y + r * D + d, tl.load(x + r * D + d) * g)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(64))

    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(32,)](x, self.gain, y, D=64)
        return y
