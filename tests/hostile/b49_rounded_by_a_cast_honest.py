# Look-alike: the cast is not taken where there is nothing to round.
# task: rounded
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
    low = v.to(tl.int32).to(tl.float32)
    low = tl.where(low > v, low - 1, low)
    part, odd = v - low, (low.to(tl.int32) & 1) != 0
    rounded = tl.where((part > 0.5) | ((part == 0.5) & odd), low + 1, low)
    tl.store(y + i, tl.where(tl.abs(v) < 8388608.0, rounded, v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(2,)](x, y, x.numel(), BLOCK=1024)
        return y
