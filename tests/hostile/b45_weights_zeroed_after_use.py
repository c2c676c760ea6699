# The weights are copied once, and cleared: the copy does the work, and whoever saves the module saves zeros.
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
    tl.store(y + i, tl.load(x + i, mask=i < n) * tl.load(s + i % columns, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(64) + 0.5)
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.scale.clone()
        y = torch.empty_like(x)
        rescale[(2,)](x, self.packed, y, x.numel(), 64, BLOCK=1024)
        self.scale.zero_()
        return y
