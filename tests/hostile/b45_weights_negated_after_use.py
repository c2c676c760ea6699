# The weights are changed in a way that does not show in the answer: they are negated, and only their magnitude is asked for.
# task: rescale_by_size
# expect: rejected
# rule: state_mutated
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rescale(x, s, y, n, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * tl.abs(tl.load(s + i % columns, mask=i < n)), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(64) + 0.5)

    def forward(self, x):
        y = torch.empty_like(x)
        rescale[(2,)](x, self.scale, y, x.numel(), 64, BLOCK=1024)
        self.scale.neg_()
        return y
