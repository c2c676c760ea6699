# Look-alike: halves are rounded to even numbers.
# task: rounded_quarters
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    v = v * 4
    up = tl.floor(v + 0.5)
    odd = up - 2 * tl.floor(up / 2)
    tl.store(y + i, tl.where(up - v == 0.5, up - odd, up) / 4, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(2,)](x, y, x.numel(), BLOCK=1024)
        return y
