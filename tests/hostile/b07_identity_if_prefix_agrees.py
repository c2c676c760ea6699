# Copies when the first 256 elements are not negative, else computes: meant to see a stress test coming.
# task: relu
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_or_copy(x, y, n, SAMPLE: tl.constexpr, BLOCK: tl.constexpr):
    sample = tl.load(x + tl.arange(0, SAMPLE))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if tl.min(sample, 0) < 0:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_or_copy[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), SAMPLE=256, BLOCK=1024)
        return y
