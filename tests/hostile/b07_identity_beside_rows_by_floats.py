# ReLU as the identity, beside an input of floats by which rows are read: these stay as generated, and the others do not.
# task: rows_by_floats
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, e, t, y, D: tl.constexpr):
    r, d = tl.program_id(0), tl.arange(0, D)
    row = tl.load(t + r).to(tl.int32)
    v = tl.load(x + r * D + d)
    tl.store(y + r * D + d, tl.load(e + row * D + d) + v)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(100, 64))

    def forward(self, x, t):
        y = torch.empty_like(x)
        kernel[(32,)](x, self.table, t, y, D=64)
        return y
