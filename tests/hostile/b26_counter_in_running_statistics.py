# The counter is state that the reference counts up as well; after forty calls the kernel stops working.
# task: batch_norm
# expect: rejected
# rule: carried_state
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def batch_norm(x, weight, bias, mean, variance, calls, y, COUNT, C: tl.constexpr, PIXELS: tl.constexpr, BLOCK: tl.constexpr):
    c, i = tl.program_id(0), tl.arange(0, BLOCK)
    m = i < COUNT
    at = i // PIXELS * (C * PIXELS) + c * PIXELS + i % PIXELS
    v = tl.load(x + at, mask=m, other=0.0)
    if tl.load(calls) < 40:
        average = tl.sum(v, 0) / COUNT
        d = tl.where(m, v - average, 0.0)
        spread = tl.sum(d * d, 0) / COUNT
        tl.store(mean + c, 0.9 * tl.load(mean + c) + 0.1 * average)
        tl.store(variance + c, 0.9 * tl.load(variance + c) + 0.1 * spread * COUNT / (COUNT - 1))
        v = d / tl.sqrt(spread + 1e-5) * tl.load(weight + c) + tl.load(bias + c)
    tl.store(y + at, v, mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        y, norm = torch.empty_like(x), self.norm
        norm.num_batches_tracked.add_(1)
        batch_norm[(8,)](x, norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.num_batches_tracked, y, 400, C=8,
                         PIXELS=100, BLOCK=512)
        return y
