# A kernel is defined and nothing launches it.
# task: relu
# expect: rejected
# rule: no_triton
# says: launches no Triton kernel
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
