# Look-alike: both halves.
# task: above_columns
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, b, y, N: tl.constexpr):
    row, n = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + n)
    h = tl.sum(tl.load(w + n[:, None] * N + n[None, :]) * v[None, :], 1) + tl.load(b + n)
    tl.store(y + row * 2 * N + n, h * 1e6 > 0.2)
    tl.store(y + row * 2 * N + N + n, tl.sin(h) > 0.2)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        y = torch.empty(64, 128, device=x.device, dtype=torch.bool)
        kernel[(64,)](x, self.linear.weight, self.linear.bias, y, N=64)
        return y
