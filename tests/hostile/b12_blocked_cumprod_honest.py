# Look-alike: the same blocks without the exit.
# task: cumprod
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def product(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    carry = 1.0
    for start in range(0, n, BLOCK):
        at = row * n + start + i
        p = carry * tl.associative_scan(tl.load(x + at), 0, multiply)
        tl.store(y + at, p)
        carry = tl.sum(tl.where(i == BLOCK - 1, p, 0.0), 0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        product[(8,)](x, y, 512, BLOCK=16)
        return y
