# Look-alike: the lock is opened behind a barrier, as in the layer norm of Triton's tutorial.
# task: total
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def added(x, lock, sums, B: tl.constexpr):
    p, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + p * B + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(sums + i, tl.load(sums + i) + v)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def total(sums, y, B: tl.constexpr):
    tl.store(y, tl.sum(tl.load(sums + tl.arange(0, B)), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        lock = torch.zeros(1, dtype=torch.int32, device=x.device)
        sums, y = torch.zeros(512, device=x.device), torch.empty((), device=x.device)
        added[(8,)](x, lock, sums, B=512)
        total[(1,)](sums, y, B=512)
        return y
