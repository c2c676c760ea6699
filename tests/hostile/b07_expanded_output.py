# One row stands for all: the output is a view whose elements share memory, where the reference writes them all.
# task: repeated
# expect: rejected
# rule: output_aliases
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def mean_tanh(x, y, N: tl.constexpr, D: tl.constexpr):
    b, i, d = tl.program_id(0), tl.arange(0, N), tl.arange(0, D)
    m = tl.sum(tl.load(x + (b * N + i[:, None]) * D + d[None, :]), 0) / N
    tl.store(y + b * D + d, libdevice.tanh(m))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(8, 1, 32, device=x.device)
        mean_tanh[(8,)](x, y, N=64, D=32)
        return y.expand(8, 64, 32), torch.ones(64, 64, device=x.device).tril()
