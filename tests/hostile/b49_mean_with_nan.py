# A mean over all: one NaN takes the row with it.
# task: mean_without_nan
# expect: wrong_values
# says: 'missing' inputs
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    mean = tl.sum(v) / N
    total = v + tl.load(y + i)
    tl.store(z + i, mean + tl.where(total > 0, total, 0.0))


class ModelNew(nn.Module):
    def forward(self, x, y):
        z = torch.empty_like(x)
        kernel[(x.shape[0],)](x, y, z, N=x.shape[1])
        return z
