# The answer of the first call is kept and copied out.
# task: relu
# expect: wrong_values
# says: cannot reach any output
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
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.empty_like(x)
            relu[(triton.cdiv(x.numel(), 1024),)](x, self.y, x.numel(), BLOCK=1024)
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 1024),)](self.y, y, x.numel(), BLOCK=1024)
        return y
