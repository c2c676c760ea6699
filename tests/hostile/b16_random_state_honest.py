# Look-alike: the state is drawn by PyTorch as the reference draws it, the rest is a kernel.
# task: random_state
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def step(x, h, into, through, y, N: tl.constexpr, D: tl.constexpr):
    n, d = tl.arange(0, N), tl.arange(0, D)
    row, square = n[:, None] * D + d[None, :], d[:, None] * D + d[None, :]
    s = tl.dot(tl.load(x + row), tl.load(into + square), input_precision="ieee")
    s = tl.dot(tl.load(h + row), tl.load(through + square), s, input_precision="ieee")
    tl.store(y + row, 2 / (1 + tl.exp(-2 * s)) - 1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.into = nn.Parameter(torch.randn(32, 32) / 6)
        self.through = nn.Parameter(torch.randn(32, 32) / 6)

    def forward(self, x):
        h = torch.randn(16, 32, device=x.device)
        y = torch.empty_like(x)
        step[(1,)](x, h, self.into, self.through, y, N=16, D=32)
        return y
