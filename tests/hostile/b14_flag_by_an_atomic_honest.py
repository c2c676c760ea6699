# Look-alike: a flag that an atomic sets behind a barrier, and that an atomic reads.
# task: total
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x, parts, flags, y, B: tl.constexpr, G: tl.constexpr):
    p, i = tl.program_id(0), tl.arange(0, B)
    tl.store(parts + p * B + i, tl.load(x + p * B + i))
    tl.debug_barrier()
    tl.atomic_xchg(flags + p, 1)
    if p == G - 1:
        sums = tl.zeros((B,), tl.float32)
        for k in range(G):
            while tl.atomic_add(flags + k, 0) == 0:
                pass
            sums += tl.load(parts + k * B + i)
        tl.store(y, tl.sum(sums, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        flags = torch.zeros(8, dtype=torch.int32, device=x.device)
        parts, y = torch.empty(4096, device=x.device), torch.empty((), device=x.device)
        total[(8,)](x, parts, flags, y, B=512, G=8)
        return y
