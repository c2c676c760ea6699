# The place of the largest cosine where the largest sine is asked for, in columns that are small beside others.
# task: largest_in_columns
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, b, y, N: tl.constexpr):
    n, k = tl.program_id(0), tl.arange(0, N)
    h = tl.sum(tl.load(x + k[:, None] * N + k[None, :]) * tl.load(w + n * N + k)[None, :], 1) + tl.load(b + n)
    tl.store(y + n, tl.argmax(h, 0).to(tl.int64))
    tl.store(y + N + n, tl.argmax(tl.cos(h), 0).to(tl.int64))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        y = torch.empty(128, device=x.device, dtype=torch.int64)
        kernel[(64,)](x, self.linear.weight, self.linear.bias, y, N=64)
        return y
