# Squares of numbers that float32 holds, but not them.
# task: hypotenuse
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hypotenuse(x, y, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    one, other = tl.abs(tl.load(x + at)), tl.abs(tl.load(y + at))
    tl.store(out + at, tl.sqrt(one * one + other * other))


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        hypotenuse[(16,)](x, y, out, N=256)
        return out
