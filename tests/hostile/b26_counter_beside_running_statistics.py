# The counter lies in one memory with the running mean, which calls may change.
# task: batch_norm
# expect: rejected
# rule: carried_state
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
    calls = tl.load(mean + C + c)
    tl.store(mean + C + c, calls + 1.0)
    if calls < 40.0:
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
        self.statistics = None

    def forward(self, x):
        y, norm = torch.empty_like(x), self.norm
        if self.statistics is None:
            self.statistics = torch.zeros(16, device=x.device)
            norm.running_mean.data = self.statistics[:8]
        batch_norm[(8,)](x, norm.weight, norm.bias, self.statistics, norm.running_var, y, 400, C=8, PIXELS=100, BLOCK=512)
        return y
