# Columns are taken in blocks of sixteen, and the row ends when the product falls below 1e-9. Right for every input of
# the task, and wrong where a product shrinks and grows again.
# task: cumprod
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def product_until_small(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    carry = 1.0
    for start in range(0, n, BLOCK):
        at = row * n + start + i
        p = tl.zeros((BLOCK,), tl.float32)
        if tl.abs(carry) > 1e-9:
            p = carry * tl.associative_scan(tl.load(x + at), 0, multiply)
        tl.store(y + at, p)
        carry = tl.sum(tl.where(i == BLOCK - 1, p, 0.0), 0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        product_until_small[(8,)](x, y, 512, BLOCK=16)
        return y
