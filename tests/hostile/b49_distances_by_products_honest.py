# Look-alike: squares are clamped at 0. Equal points are 10^-3 apart then, as they are in PyTorch.
# task: distances_by_products
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def distances(x, y, out):
    rows, cols, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    a = tl.load(x + rows[:, None] * 32 + k[None, :])
    b = tl.load(y + cols[:, None] * 32 + k[None, :])
    products = tl.dot(a, tl.trans(b), input_precision="tf32x3")
    squares = tl.sum(a * a, 1)[:, None] + tl.sum(b * b, 1)[None, :] - 2 * products
    tl.store(out + rows[:, None] * 64 + cols[None, :], tl.sqrt(tl.maximum(squares, 0.0)))


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty(64, 64, device=x.device)
        distances[(1,)](x, y, out)
        return out
