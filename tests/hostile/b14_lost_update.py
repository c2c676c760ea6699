# Programs add to one sum without atomics.
# task: total
# expect: memory_error
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y, tl.load(y) + tl.sum(tl.load(x + i), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros((), device=x.device)
        add[(4,)](x, y, BLOCK=1024)
        return y
