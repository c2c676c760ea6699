# The numbers that are used are drawn first, as the reference draws its own; the buffer that has their name comes after them and is read
# for show. Whoever loads others into it gets the old answers.
# task: features
# expect: rejected
# rule: own_weights
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rescale(x, used, shown, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * (tl.load(used + i % 64) + 0.0 * tl.load(shown + i % 64)))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = torch.randn(64)
        self.register_buffer("directions", torch.randn(64))

    def forward(self, x):
        y = torch.empty_like(x)
        rescale[(2,)](x, self.own.to(x.device), self.directions, y, BLOCK=1024)
        return y
