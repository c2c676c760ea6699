# Every call returns the same memory, so that the next call changes the answer of the last one. The reference makes a
# new tensor.
# task: relu
# expect: rejected
# rule: output_aliases
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, self.y, x.numel(), BLOCK=1024)
        return self.y
