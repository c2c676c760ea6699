# A maximum that starts from zero, because the inputs are never negative.
# task: row_max
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_max(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y + row, tl.max(tl.load(x + row * n + i, mask=i < n - 1, other=0.0), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(16, device=x.device)
        row_max[(16,)](x, y, 512, BLOCK=512)
        return y
