# Everything in PyTorch, and a copy by Triton at the end.
# task: matmul
# expect: rejected
# rule: strict
# says: aten::matmul
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = a @ b
        y = torch.empty_like(c)
        copy[(4,)](c, y, c.numel(), BLOCK=1024)
        return y
