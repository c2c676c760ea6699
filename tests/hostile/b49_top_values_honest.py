# Look-alike: the softmax of the largest eight.
# task: top_softmax
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, y):
    r = tl.program_id(0)
    i = tl.arange(0, 256)
    v = tl.load(x + r * 256 + i)
    left = v
    t = tl.max(v, 0)
    for _ in range(7):
        p = tl.argmax(left, 0)
        left = tl.where(i == p, float("-inf"), left)
        t = tl.max(left, 0)
    e = tl.where(v >= t, tl.exp(v - tl.max(v, 0)), 0.0)
    tl.store(y + r * 256 + i, e / tl.sum(e, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(16,)](x, y)
        return y
