# Look-alike: variants that differ in their warps only, and what is no column is smaller than every result.
# task: largest_of_linear
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"FILL": float("-inf")}), triton.Config({"FILL": float("-inf")}, num_warps=8)], key=["n"])
@triton.jit
def largest(x, w, b, y, n, FILL: tl.constexpr):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)
    c, k = tl.arange(0, 64), tl.arange(0, 64)
    a = tl.load(x + row[:, None] * 64 + k[None, :])
    v = tl.load(w + c[None, :] * 64 + k[:, None], mask=c[None, :] < n, other=0.0)
    h = tl.dot(a, v, input_precision="ieee") + tl.load(b + c, mask=c < n, other=0.0)[None, :]
    tl.store(y + row, tl.max(tl.where(c[None, :] < n, h, FILL), 1))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(64, 40)

    def forward(self, x):
        y = torch.empty(32, device=x.device)
        largest[(2,)](x, self.score.weight, self.score.bias, y, 40)
        return y
