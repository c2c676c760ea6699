# The cosine of a row with itself is a little more than one, which is no angle's.
# task: angle_between
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def angle(x, y, out, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    one, other = tl.load(x + row * N + at), tl.load(y + row * N + at)
    one /= tl.maximum(tl.sqrt(tl.sum(one * one, 0)), 1e-12)
    other /= tl.maximum(tl.sqrt(tl.sum(other * other, 0)), 1e-12)
    cosine = tl.sum(one * other, 0)
    tl.store(out + row, libdevice.acos(cosine))


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty(64, device=x.device)
        angle[(64,)](x, y, out, N=128)
        return out
