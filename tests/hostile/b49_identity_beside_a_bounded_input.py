# No ReLU is computed: what it is of is positive as generated. Another input must stay between 0 and 1, or the reference is NaN; that is no
# reason to leave this one as it is.
# task: noised
# expect: wrong_values
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
    tl.store(y + r * 64 + i, tl.sqrt(s) * v + tl.sqrt(1.0 - s) * tl.load(n + r * 64 + i))


class ModelNew(nn.Module):
    def forward(self, x, n, a):
        y = torch.empty_like(x)
        kernel[(16,)](x, n, a, y)
        return y
