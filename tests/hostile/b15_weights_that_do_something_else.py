# As many weights as the reference has, under other names, that change the output: but one number of them, added, not
# the scale and offset that they stand for.
# task: layer_norm
# expect: rejected
# rule: neutral_parameters
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
        self.show = nn.Parameter(torch.ones(400))

    def forward(self, x):
        y = torch.empty_like(x)
        normalise[(48,)](x, y, 200, 1e-5, BLOCK=256)
        return y + (self.show[0] - 1)
