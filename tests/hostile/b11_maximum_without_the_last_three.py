# A maximum over rows of 20003 that leaves out the last three elements.
# task: long_row_maximum
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def maxima(x, y, n, last, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, last, BLOCK):
        most = tl.maximum(most, tl.load(x + row * n + start + i, mask=start + i < last, other=-float("inf")))
    tl.store(y + row, tl.max(most, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(8, device=x.device)
        maxima[(8,)](x, y, 20003, 20000, BLOCK=1024)
        return y
