# Each call returns what the call before computed: one call late.
# task: relu
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        if self.last is None:
            self.last = torch.zeros_like(x)
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 1024),)](self.last, y, x.numel(), BLOCK=1024)
        relu[(triton.cdiv(x.numel(), 1024),)](x, self.last, x.numel(), BLOCK=1024)
        return y
