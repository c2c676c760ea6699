# Look-alike: NaN becomes 0.
# task: numbers_of_linear
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, b, y, D: tl.constexpr, C: tl.constexpr):
    r, d, c = tl.program_id(0), tl.arange(0, D), tl.arange(0, C)
    v = tl.sum(tl.load(x + r * D + d)[None, :] * tl.load(w + c[:, None] * D + d[None, :]), 1) + tl.load(b + c)
    tl.store(y + r * C + c, tl.where(v != v, 0.0, v))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 32)

    def forward(self, x):
        y = torch.empty(32, 32, device=x.device)
        kernel[(32,)](x, self.linear.weight, self.linear.bias, y, D=64, C=32)
        return y
