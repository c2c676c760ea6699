# The maximum that a softmax takes out is that of the whole input: right while rows are alike.
# task: softmax
# expect: wrong_values
# says: 'large' inputs
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def largest(x, m, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(m, tl.max(tl.load(x + i, mask=i < n, other=-float("inf")), 0))


@triton.jit
def softmax(x, m, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.load(m))
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        m = torch.full((1,), -float("inf"), device=x.device)
        y = torch.empty_like(x)
        largest[(16,)](x, m, x.numel(), BLOCK=1024)
        softmax[(16,)](x, m, y, 1000, BLOCK=1024)
        return y
