# Reads past the end of a buffer, where a neighbour's data may lie.
# task: relu
# expect: memory_error
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def beyond(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        beyond[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
