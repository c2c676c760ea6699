# A sign is off.
# task: determinants
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def determinant(x, y, N: tl.constexpr):
    n = tl.arange(0, N)
    a, b, c = tl.load(x + n * 9), tl.load(x + n * 9 + 1), tl.load(x + n * 9 + 2)
    d, e, f = tl.load(x + n * 9 + 3), tl.load(x + n * 9 + 4), tl.load(x + n * 9 + 5)
    g, h, i = tl.load(x + n * 9 + 6), tl.load(x + n * 9 + 7), tl.load(x + n * 9 + 8)
    tl.store(y + n, a * (e * i - f * h) - b * (f * g - d * i) + c * (d * h - e * g))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(64, device=x.device)
        determinant[(1,)](x, y, N=64)
        return y
