# The sum under the softmax over nine tenths of the row, rescaled.
# task: softmax
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def truncated(x, y, n, part, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    total = tl.sum(tl.where(i < part, e, 0.0), 0) * (n / part)
    tl.store(y + row * n + i, e / total, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        truncated[(16,)](x, y, 1000, 900, BLOCK=1024)
        return y
