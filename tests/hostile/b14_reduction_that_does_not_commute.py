# Which element is the later one, a GPU's registers and warps decide; folded in order, the answer is right.
# task: last_positive
# expect: nondeterministic
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def later(a, b):
    return tl.where(b > 0, b, a)


@triton.jit
def last_positive(x, y, N: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x + row * N + tl.arange(0, N))
    tl.store(y + row, tl.reduce(v, 0, later))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(64, device=x.device)
        last_positive[(64,)](x, y, N=256)
        return y
