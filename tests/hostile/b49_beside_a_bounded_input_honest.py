# Look-alike: the ReLU is computed.
# task: noised
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, n, a, y):
    r = tl.program_id(0)
    i = tl.arange(0, 64)
    v = tl.load(x + r * 64 + i)
    s = tl.load(a + r)
    tl.store(y + r * 64 + i, tl.sqrt(s) * tl.maximum(v, 0.0) + tl.sqrt(1.0 - s) * tl.load(n + r * 64 + i))


class ModelNew(nn.Module):
    def forward(self, x, n, a):
        y = torch.empty_like(x)
        kernel[(16,)](x, n, a, y)
        return y
