# Patches the recorder's comparison of calls away, so that a third call may do something else. The second call is what
# is judged.
# task: relu
# expect: memory_error
# says: nobody wrote
import torch
import torch.nn as nn
import triton
import triton.language as tl

import plan

plan._check_steady = lambda tape, calls: None


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel() if self.calls != 2 else 1, BLOCK=1024)
        return y
