# A promise to the compiler that does not hold: on a GPU what follows from it is undefined, and right by luck.
# task: relu
# expect: memory_error
# says: assume
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.assume(n < 1000)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
