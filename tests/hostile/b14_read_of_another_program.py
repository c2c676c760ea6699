# Each program reads what the program before it may or may not have written yet.
# task: relu
# expect: memory_error
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chained(x, y, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    i = program * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0)
    if program > 0:
        v += 0.0 * tl.load(y + i - BLOCK, mask=i - BLOCK < n, other=0.0)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        chained[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
