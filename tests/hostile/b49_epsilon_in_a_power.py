# An epsilon that the reference does not have, under a power: rows that are nearly zero are.
# task: unit_by_power
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unit(x, y):
    c = tl.arange(0, 64)
    row = tl.load(x + tl.program_id(0) * 48 + c, mask=c < 48, other=0.0)
    tl.store(y + tl.program_id(0) * 48 + c, row * tl.rsqrt(tl.sum(row * row) + 1e-8), mask=c < 48)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        unit[(32,)](x, y)
        return y
