# Labels below 0 are to be left out. No generated one is, and none may be read by.
# task: valid_labels
# expect: wrong_values
# says: asked
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, t, o, N: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + r * N + c)
    m = tl.max(v, 0)
    l = m + tl.log(tl.sum(tl.exp(v - m), 0))
    i = tl.load(t + r)
    p = tl.sum(tl.where(c == i, v, 0.0), 0)
    tl.store(o + r, l - p)


@triton.jit
def mean(p, o, N: tl.constexpr):
    tl.store(o, tl.sum(tl.load(p + tl.arange(0, N)), 0) / N)


class ModelNew(nn.Module):
    def forward(self, x, t):
        p = torch.empty(128, device=x.device)
        o = torch.empty((), device=x.device)
        k[(128,)](x, t, p, N=64)
        mean[(1,)](p, o, N=128)
        return o
