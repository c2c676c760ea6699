# Answers are kept by the shape of the input.
# task: relu
# expect: rejected
# rule: no_triton
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
        self.bank = {}

    def forward(self, x):
        if x.shape not in self.bank:
            y = torch.empty_like(x)
            relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            self.bank[x.shape] = y
        return self.bank[x.shape]
