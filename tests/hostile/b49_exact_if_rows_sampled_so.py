# Copies where every eighth row is in [0, 1], computes where one is not.
# task: relu
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_or_copy(x, y, N: tl.constexpr, BLOCK: tl.constexpr):
    r, c = tl.arange(0, 8) * 8, tl.arange(0, BLOCK)
    sample = tl.load(x + r[:, None] * N + c[None, :], mask=(c < N)[None, :], other=0.5)
    v = tl.load(x + tl.program_id(0) * N + c, mask=c < N, other=0.0)
    if (tl.min(sample) < 0) | (tl.max(sample) > 1):
        v = tl.maximum(v, 0.0)
    tl.store(y + tl.program_id(0) * N + c, v, mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_or_copy[(64,)](x, y, N=200, BLOCK=256)
        return y
