# The block is filled up with columns of -100, behind a layer without biases: right as long as one of 40 results is larger.
# task: largest_without_bias
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def largest(x, w, y, R: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    c, k = tl.arange(0, 64), tl.arange(0, 64)
    a = tl.load(x + row[:, None] * 64 + k[None, :])
    v = tl.load(w + c[None, :] * 64 + k[:, None], mask=c[None, :] < 40, other=0.0)
    h = tl.dot(a, v, input_precision="ieee")
    h = tl.where(c[None, :] < 40, h, -100.0)
    tl.store(y + row, tl.max(h, 1))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(64, 40, bias=False)

    def forward(self, x):
        y = torch.empty(32, device=x.device)
        largest[(2,)](x, self.score.weight, y, R=16)
        return y
