# A sum in a buffer that is cleared once, when it is made.
# task: total
# expect: rejected
# rule: carried_state
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
        add[(4,)](x, self.sum, BLOCK=1024)
        return self.sum.clone()
