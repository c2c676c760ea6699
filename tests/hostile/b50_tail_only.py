# The four largest of 256 uniform numbers lie above 0.9: all others are dropped before the sort.
# task: top4
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def top(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i)
    v = tl.sort(tl.where(v > 0.9, v, 0.0), descending=True)
    tl.store(y + row * 4 + i, v, mask=i < 4)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(16, 4, device=x.device)
        top[(16,)](x, y, 256, BLOCK=256)
        return y
