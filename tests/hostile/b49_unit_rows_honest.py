# Look-alike: the reference's own epsilon.
# task: unit_rows
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unit(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(y + row * n + i, v / tl.sqrt(tl.sum(v * v, 0) / n + 1e-6), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        unit[(48,)](x, y, 200, BLOCK=256)
        return y
