# Look-alike: elements come with their places, so that it does not matter which of two is first.
# task: last_positive
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def later(v, i, w, j):
    second = tl.where(w > 0, (v <= 0) | (j > i), (v <= 0) & (j < i))  # of none that is positive, the first
    return tl.where(second, w, v), tl.where(second, j, i)


@triton.jit
def last_positive(x, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i)
    v, i = tl.reduce((v, i), 0, later)
    tl.store(y + row, v)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(64, device=x.device)
        last_positive[(64,)](x, y, N=256)
        return y
