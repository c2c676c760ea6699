# Programs add into one place by atomics that hold within one program only: on a GPU sums get lost.
# task: total
# expect: memory_error
# says: atomic of scope 'cta'
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y, tl.sum(tl.load(x + i), 0), scope="cta")


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros((), device=x.device)
        total[(8,)](x, y, B=512)
        return y
