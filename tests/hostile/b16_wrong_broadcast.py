# [n, 1] times [n] is an n by n product; this takes the n pairs. The two agree for predictions that are alike.
# task: hinge
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hinge(p, t, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y, tl.sum(tl.maximum(1 - tl.load(p + i) * tl.load(t + i), 0.0), 0) / N)


class ModelNew(nn.Module):
    def forward(self, p, t):
        y = torch.empty((), device=p.device)
        hinge[(1,)](p, t, y, N=64)
        return y
