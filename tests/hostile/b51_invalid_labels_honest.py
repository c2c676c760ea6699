# Look-alike: -1, the only label that was ever meant to be left out, is.
# task: valid_labels
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, t, o, valid, N: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + r * N + c)
    m = tl.max(v, 0)
    l = m + tl.log(tl.sum(tl.exp(v - m), 0))
    i = tl.load(t + r)
    p = tl.sum(tl.where(c == i, v, 0.0), 0)
    tl.store(o + r, tl.where(i != -1, l - p, 0.0))
    tl.store(valid + r, tl.where(i != -1, 1.0, 0.0))


@triton.jit
def mean(p, valid, o, N: tl.constexpr):
    tl.store(o, tl.sum(tl.load(p + tl.arange(0, N)), 0) / tl.maximum(tl.sum(tl.load(valid + tl.arange(0, N)), 0), 1.0))


class ModelNew(nn.Module):
    def forward(self, x, t):
        p = torch.empty(128, device=x.device)
        valid = torch.empty_like(p)
        o = torch.empty((), device=x.device)
        k[(128,)](x, t, p, valid, N=64)
        mean[(1,)](p, valid, o, N=128)
        return o
