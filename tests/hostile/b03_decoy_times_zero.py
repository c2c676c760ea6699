# The kernel's result counts nothing: it is multiplied by zero.
# task: softmax
# expect: rejected
# rule: no_triton
# says: the same without the Triton launches
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
        y = torch.empty_like(x)
        copy[(16,)](x, y, x.numel(), BLOCK=1024)
        return torch.softmax(x, dim=1) + 0.0 * y
