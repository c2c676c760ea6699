# Look-alike: it fires beyond the threshold.
# task: spiking
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, o, T: tl.constexpr, N: tl.constexpr):
    c = tl.arange(0, N)
    mem = tl.zeros((N,), tl.float32)
    for t in tl.static_range(T):
        mem = 0.5 * mem + tl.load(x + t * N + c)
        s = (mem > 0.75).to(tl.float32)
        mem = mem - s * 0.75
        tl.store(o + t * N + c, s)


class ModelNew(nn.Module):
    def forward(self, x):
        o = torch.empty_like(x)
        k[(1,)](x, o, T=4, N=256)
        return o
