# The same, with no weights at all.
# task: norm_mean
# expect: wrong_values
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
        y = torch.empty(8, device=x.device)
        fill[(1,)](y, 8, VALUE=0.0, BLOCK=8)
        return y
