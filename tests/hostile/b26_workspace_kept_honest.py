# Look-alike: a workspace that is allocated once and written anew in each call before it is read.
# task: total
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y, tl.sum(tl.load(x + i), 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.sum = None

    def forward(self, x):
        if self.sum is None:
            self.sum = torch.zeros((), device=x.device)
        self.sum.zero_()
        add[(4,)](x, self.sum, BLOCK=1024)
        return self.sum.clone()
