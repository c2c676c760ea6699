# Tiles of atomics are each thread's own, too: a scalar atomic behind them does not say that they are done.
# task: total
# expect: memory_error
# says: put tl.debug_barrier() before that atomic
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x, parts, count, y, B: tl.constexpr, G: tl.constexpr):
    p, i = tl.program_id(0), tl.arange(0, B)
    tl.atomic_add(parts + p * B + i, tl.load(x + p * B + i))
    if tl.atomic_add(count, 1) == G - 1:
        tl.store(y, tl.sum(tl.load(parts + tl.arange(0, G * B)), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        parts = torch.zeros(4096, device=x.device)
        count = torch.zeros(1, dtype=torch.int32, device=x.device)
        y = torch.empty((), device=x.device)
        total[(8,)](x, parts, count, y, B=512, G=8)
        return y
