# NaN is written into the input, so that the reference's answer is NaN too.
# task: relu
# expect: rejected
# rule: input_mutated
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fill(y, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.full((BLOCK,), VALUE, tl.float32), mask=i < n)


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        fill[(16,)](x, x.numel(), VALUE=float("nan"), BLOCK=1024)
        copy[(16,)](x, y, x.numel(), BLOCK=1024)
        return y
