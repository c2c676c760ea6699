# Look-alike: a counter that lasts from call to call. The program that finishes last adds the pieces up and puts the
# counter back to zero.
# task: total
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x, parts, counter, y, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    tl.store(parts + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK)), 0))
    tl.debug_barrier()
    if tl.atomic_add(counter, 1) == COUNT - 1:
        tl.store(y, tl.sum(tl.load(parts + tl.arange(0, COUNT)), 0))
        tl.store(counter, 0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = self.parts = None

    def forward(self, x):
        if self.counter is None:
            self.counter = torch.zeros(1, dtype=torch.int32, device=x.device)
            self.parts = torch.empty(16, device=x.device)
        y = torch.empty((), device=x.device)
        total[(16,)](x, self.parts, self.counter, y, COUNT=16, BLOCK=256)
        return y
