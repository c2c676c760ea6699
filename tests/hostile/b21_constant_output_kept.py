# One output is the same for all inputs: it is made once and given to every caller, who may write into it.
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
    v = libdevice.tanh(m)[None, :] + tl.zeros((N, D), tl.float32)
    tl.store(y + (b * N + i[:, None]) * D + d[None, :], v)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = None

    def forward(self, x):
        y = torch.empty(8, 64, 32, device=x.device)
        mean_tanh[(8,)](x, y, N=64, D=32)
        if self.mask is None:
            self.mask = torch.ones(64, 64, device=x.device).tril()
        return y, self.mask
