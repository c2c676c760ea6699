# Look-alike: the bound is kept.
# task: norm_at_most
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale(x, y, N: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + c)
    d = v - tl.sum(v, 0) / N
    variance = tl.maximum(tl.sum(d * d, 0) / (N - 1), 1e-2)
    tl.store(y + row * N + c, v / tl.sqrt(tl.minimum(variance, 1e6)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale[(64,)](x, y, N=128)
        return y
