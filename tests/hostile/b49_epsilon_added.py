# An epsilon that the reference does not have.
# task: rows_over_norms
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + at)
    norm = tl.sqrt(tl.sum(value * value, 0))
    tl.store(y + at, value / tl.maximum(norm, 1e-5))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows[(64,)](x, y, N=256)
        return y
