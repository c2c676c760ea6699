# Look-alike: rows in pieces, with the largest value so far taken out.
# task: long_softmax
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def online_softmax(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0) * n, tl.arange(0, BLOCK)
    largest, total = -float("inf"), 0.0
    for start in range(0, n, BLOCK):
        v = tl.load(x + row + start + i)
        new = tl.maximum(largest, tl.max(v, 0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(v - new), 0)
        largest = new
    for start in range(0, n, BLOCK):
        v = tl.load(x + row + start + i)
        tl.store(y + row + start + i, tl.exp(v - largest) / total)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        online_softmax[(2,)](x, y, 32768, BLOCK=2048)
        return y
