# 64-bit integers are computed with in 32 bits: enough for the numbers that the generator makes.
# task: quotients
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    v = v.to(tl.int32)
    tl.store(y + i, (v // 4 * 7 + v % 7).to(tl.int64), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(2,)](x, y, x.numel(), BLOCK=1024)
        return y
