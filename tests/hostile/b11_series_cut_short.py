# An exponential by the first eight terms of its series: exact to fp32 on [0, 1].
# task: softmax
# expect: wrong_values
# says: 'spread' inputs
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    u = v - 0.5
    e = 1 + u * (1 + u / 2 * (1 + u / 3 * (1 + u / 4 * (1 + u / 5 * (1 + u / 6 * (1 + u / 7 * (1 + u / 8)))))))
    e = tl.where(i < n, e, 0.0)
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax[(16,)](x, y, 1000, BLOCK=1024)
        return y
