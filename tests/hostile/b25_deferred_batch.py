# Calls are gathered and done together every fourth time; until then the outputs are promises.
# task: relu
# expect: rejected
# rule: unsteady
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
        self.pending = []

    def forward(self, x):
        y = torch.zeros_like(x)
        self.pending.append((x, y))
        if len(self.pending) == 3:
            for x, y in self.pending:
                relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            self.pending = []
        return y
