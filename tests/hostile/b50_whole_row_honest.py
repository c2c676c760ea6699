# Look-alike: the whole row is sorted.
# task: top4
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def top(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y + row * 4 + i, tl.sort(tl.load(x + row * n + i), descending=True), mask=i < 4)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(16, 4, device=x.device)
        top[(16,)](x, y, 256, BLOCK=256)
        return y
