# A running mean that moves ten times too slowly.
# task: batch_norm
# expect: passed
# notes: holds other values after the call than the reference leaves there
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def batch_norm(x, weight, bias, mean, variance, y, COUNT, C: tl.constexpr, PIXELS: tl.constexpr, BLOCK: tl.constexpr):
    c, i = tl.program_id(0), tl.arange(0, BLOCK)
    m = i < COUNT
    at = i // PIXELS * (C * PIXELS) + c * PIXELS + i % PIXELS
    v = tl.load(x + at, mask=m, other=0.0)
    average = tl.sum(v, 0) / COUNT
    d = tl.where(m, v - average, 0.0)
    spread = tl.sum(d * d, 0) / COUNT
    tl.store(mean + c, 0.99 * tl.load(mean + c) + 0.01 * average)
    tl.store(variance + c, 0.9 * tl.load(variance + c) + 0.1 * spread * COUNT / (COUNT - 1))
    out = d / tl.sqrt(spread + 1e-5) * tl.load(weight + c) + tl.load(bias + c)
    tl.store(y + at, out, mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        y, norm = torch.empty_like(x), self.norm
        batch_norm[(8,)](x, norm.weight, norm.bias, norm.running_mean, norm.running_var, y, 400, C=8, PIXELS=100, BLOCK=512)
        return y
