# Both operands are triangular, so that half of each sum is left out. The contract is what the reference computes, for
# any operands of these shapes.
# task: triangular
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def upper(a, b, c, N: tl.constexpr):
    m, n = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x = tl.where(n >= m, tl.load(a + m * N + n), 0.0)
    y = tl.where(n >= m, tl.load(b + m * N + n), 0.0)
    tl.store(c + m * N + n, tl.dot(x, y, input_precision="ieee"))


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty_like(a)
        upper[(1,)](a, b, c, N=64)
        return c
