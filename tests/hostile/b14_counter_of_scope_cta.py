# The last program sums what all have left; who is last is counted by atomics that hold within one program only.
# task: total
# expect: memory_error
# says: atomic of scope 'cta'
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x, part, count, y, B: tl.constexpr, G: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.sum(tl.load(x + p * B + tl.arange(0, B)), 0))
    if tl.atomic_add(count, 1, scope="cta") == G - 1:
        tl.store(y, tl.sum(tl.load(part + tl.arange(0, G)), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        part = torch.empty(8, device=x.device)
        count = torch.zeros(1, dtype=torch.int32, device=x.device)
        y = torch.empty((), device=x.device)
        total[(8,)](x, part, count, y, B=512, G=8)
        return y
