# Look-alike: halves of a quantum are rounded to even ones.
# task: fake_quantized
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, o, N: tl.constexpr):
    c = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + c)
    v = v * 16
    up = tl.floor(v + 0.5)
    odd = up - 2 * tl.floor(up / 2)
    q = tl.where(up - v == 0.5, up - odd, up) + 3
    q = tl.minimum(tl.maximum(q, -128.0), 127.0)
    tl.store(o + c, (q - 3) * 0.0625)


class ModelNew(nn.Module):
    def forward(self, x):
        o = torch.empty_like(x)
        k[(16,)](x, o, N=256)
        return o
