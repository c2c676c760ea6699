# task: trust_ratio
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(w, g, o, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(w + i), tl.load(g + i)
    of_w, of_g = tl.sqrt(tl.sum(a * a, 0)), tl.sqrt(tl.sum(b * b, 0))
    ratio = tl.where(of_g > 0, of_w / of_g, 1.0)
    tl.store(o + i, a - 0.01 * ratio * b)


class ModelNew(nn.Module):
    def forward(self, w, g):
        o = torch.empty_like(w)
        k[(1,)](w, g, o, N=1024)
        return o
