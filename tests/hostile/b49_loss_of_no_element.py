# Divides by what a mask counts, which one line without any does not show.
# task: masked_loss
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss(x, target, mask, y, N: tl.constexpr):
    at = tl.arange(0, N)
    difference = tl.load(x + at) - tl.load(target + at)
    counts = tl.load(mask + at).to(tl.float32)
    tl.store(y, tl.sum(difference * difference * counts, 0) / tl.sum(counts, 0))


class ModelNew(nn.Module):
    def forward(self, x, target, mask):
        y = torch.empty((), device=x.device)
        loss[(1,)](x, target, mask, y, N=1024)
        return y
