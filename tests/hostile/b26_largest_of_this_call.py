# The largest magnitude of this call alone: right as long as no call before had larger ones.
# task: largest_so_far
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled(x, scale, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + at) / tl.load(scale)
    tl.store(y + at, tl.where(value < -1, -1.0, tl.where(value > 1, 1.0, value)))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(1.0))

    def forward(self, x):
        self.scale.copy_(x.abs().amax())
        y = torch.empty_like(x)
        scaled[(x.numel() // 256,)](x, self.scale, y, N=256)
        return y
