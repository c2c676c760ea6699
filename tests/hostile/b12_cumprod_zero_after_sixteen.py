# A product of numbers below one is next to nothing after sixteen columns.
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
def short_product(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < 16, other=1.0)
    tl.store(y + row * n + i, tl.where(i < 16, tl.associative_scan(v, 0, multiply), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        short_product[(8,)](x, y, 512, BLOCK=512)
        return y
