# Look-alike: many lanes store into one place, all of them the same value.
# task: last_positive
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def last_positive(x, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i)
    last = tl.max(tl.where(v > 0, i, 0), 0)
    tl.store(y + row + i * 0, tl.load(x + row * N + last + i * 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(64, device=x.device)
        last_positive[(64,)](x, y, N=256)
        return y
