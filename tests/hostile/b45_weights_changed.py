# The weights are halved by each call, and the answer is doubled: right once.
# task: rescale
# expect: rejected
# rule: state_mutated
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rescale(x, s, y, n, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * tl.load(s + i % columns, mask=i < n) * 2, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(64) + 0.5)

    def forward(self, x):
        y = torch.empty_like(x)
        self.scale.mul_(0.5)
        rescale[(2,)](x, self.scale, y, x.numel(), 64, BLOCK=1024)
        return y
