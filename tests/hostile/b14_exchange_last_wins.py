# All positive elements of a row are exchanged into one place, which is no race. Which one stays is the GPU's choice.
# task: last_positive
# expect: nondeterministic
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def last_positive(x, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i)
    tl.atomic_xchg(y + row, tl.load(x + row * N))
    tl.atomic_xchg(y + row + i * 0, v, mask=v > 0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros(64, device=x.device)
        last_positive[(64,)](x, y, N=256)
        return y
