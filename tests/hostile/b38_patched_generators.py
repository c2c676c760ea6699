# Random numbers are patched to zeros, so that the inputs are.
# task: relu
# expect: wrong_values
# says: 'spread' inputs
import sys

import torch
import torch.nn as nn
import triton
import triton.language as tl

torch.rand = torch.randn = torch.zeros
for module in list(sys.modules.values()):
    if hasattr(module, "get_inputs"):
        module.get_inputs = lambda: [torch.zeros(64, 200)]


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
