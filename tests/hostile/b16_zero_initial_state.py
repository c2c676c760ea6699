# The reference starts from a random state; zeros are its mean.
# task: random_state
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def step(x, into, y, N: tl.constexpr, D: tl.constexpr):
    n, d = tl.arange(0, N), tl.arange(0, D)
    s = tl.dot(tl.load(x + n[:, None] * D + d[None, :]), tl.load(into + d[:, None] * D + d[None, :]), input_precision="ieee")
    tl.store(y + n[:, None] * D + d[None, :], 2 / (1 + tl.exp(-2 * s)) - 1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.into = nn.Parameter(torch.randn(32, 32) / 6)
        self.through = nn.Parameter(torch.randn(32, 32) / 6)

    def forward(self, x):
        y = torch.empty_like(x)
        step[(1,)](x, self.into, y, N=16, D=32)
        return y + 0 * self.through[0]
