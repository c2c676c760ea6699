# The logarithm of a sum near one, where all that is left of it is small, and is multiplied.
# task: log_sigmoid_of_large
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log_sigmoid(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, 3 * (tl.minimum(v, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(v)))), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        log_sigmoid[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
