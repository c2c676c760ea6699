# The first mask may be empty.
# task: means_of_two_masks
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def means(x, some, others, out, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    one, other = tl.load(some + at).to(tl.float32), tl.load(others + at).to(tl.float32)
    tl.store(out, tl.sum(value * one, 0) / tl.maximum(tl.sum(one, 0), 1.0) + tl.sum(value * other, 0) / tl.sum(other, 0))


class ModelNew(nn.Module):
    def forward(self, x, some, others):
        out = torch.empty((), device=x.device)
        means[(1,)](x, some, others, out, N=1024)
        return out
