# Look-alike: padding lanes of -Inf.
# task: pooled
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def largest(x, y):
    i = tl.arange(0, 128)
    tl.store(y + tl.program_id(0), tl.max(tl.load(x + tl.program_id(0) * 72 + i, mask=i < 72, other=float("-inf")), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(2, 16, 1, 1, device=x.device)
        largest[(32,)](x, y)
        return y
