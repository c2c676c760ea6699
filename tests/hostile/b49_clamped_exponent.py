# The maximum is replaced by a clamp that no input of the task reaches.
# task: softmax
# expect: wrong_values
# says: 'large' inputs
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(tl.minimum(v, 80.0))
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax[(16,)](x, y, 1000, BLOCK=1024)
        return y
