# A launch with no program in its grid.
# task: softmax
# expect: rejected
# rule: no_triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        copy[(0,)](x, y, x.numel(), BLOCK=1024)
        return y
