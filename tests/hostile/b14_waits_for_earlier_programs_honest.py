# Look-alike: each program waits for the one before, which has started by then.
# task: total
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x, sums, flags, y, N: tl.constexpr):
    p = tl.program_id(0)
    own = tl.sum(tl.load(x + p * 8 + tl.arange(0, 8)), 0)
    if p > 0:
        while tl.atomic_add(flags + p - 1, 0) == 0:
            pass
        own += tl.load(sums + p - 1)
    tl.store(sums + p, own)
    tl.atomic_xchg(flags + p, 1)
    if p == N - 1:
        tl.store(y, own)


class ModelNew(nn.Module):
    def forward(self, x):
        sums, flags = torch.empty(512, device=x.device), torch.zeros(512, dtype=torch.int32, device=x.device)
        y = torch.empty((), device=x.device)
        total[(512,)](x, sums, flags, y, N=512, num_warps=32)
        return y
