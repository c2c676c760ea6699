# A loss that counts the class that it is told to ignore: no label that is generated is of it.
# task: ignored_class
# expect: wrong_values
# says: asked
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss(x, labels, y, n, IGNORED: tl.constexpr):
    total = 0.0
    count = 0.0
    c = tl.arange(0, 1024)
    for row in range(64):
        label = tl.load(labels + row)
        v = tl.load(x + row * n + c, mask=c < n, other=float("-inf"))
        most = tl.max(v, 0)
        one = tl.log(tl.sum(tl.exp(v - most), 0)) + most - tl.load(x + row * n + label)
        counts = label != IGNORED
        total += tl.where(counts, one, 0.0)
        count += tl.where(counts, 1.0, 0.0)
    tl.store(y, total / count)


class ModelNew(nn.Module):
    def forward(self, x, labels):
        y = torch.empty((), device=x.device)
        loss[(1,)](x, labels, y, 1000, IGNORED=-100)
        return y
