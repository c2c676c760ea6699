# Copies where every 64th element is in [0, 1], computes where one is not: samples spread over the whole input see
# most distributions coming.
# task: relu
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_or_copy(x, y, n, SAMPLE: tl.constexpr, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    sample = tl.load(x + tl.arange(0, SAMPLE) * STRIDE, mask=tl.arange(0, SAMPLE) * STRIDE < n, other=0.5)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if (tl.min(sample, 0) < 0) | (tl.max(sample, 0) > 1):
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_or_copy[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), SAMPLE=256, STRIDE=64, BLOCK=1024)
        return y
