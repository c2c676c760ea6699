# Look-alike: a mask of ones and a block size are worked out in the constructor.
# task: rescale
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rescale(x, s, y, n, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * tl.load(s + i % columns, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(64) + 0.5)
        self.block = triton.next_power_of_2(500)

    def forward(self, x):
        y = torch.empty_like(x)
        rescale[(triton.cdiv(x.numel(), self.block),)](x, self.scale, y, x.numel(), 64, BLOCK=self.block)
        return y
