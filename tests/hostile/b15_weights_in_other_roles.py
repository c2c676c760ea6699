# Weight and bias under other names and for show: the output does not depend on what they hold, but on whether they
# still are 1 and 0.
# task: layer_norm
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalise(x, y, n, eps, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + row * n + i, mask=m, other=0.0)
    d = tl.where(m, v - tl.sum(v, 0) / n, 0.0)
    tl.store(y + row * n + i, d / tl.sqrt(tl.sum(d * d, 0) / n + eps), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(200))
        self.offset = nn.Parameter(torch.zeros(200))

    def forward(self, x):
        y = torch.empty_like(x)
        normalise[(48,)](x, y, 200, 1e-5, BLOCK=256)
        return y + (self.gain - 1).abs().sum() + self.offset.abs().sum()
