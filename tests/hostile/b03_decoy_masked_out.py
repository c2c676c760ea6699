# A launch that writes the output, except that its mask lets nothing through.
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
        copy[(16,)](x, y, 0, BLOCK=1024)
        return y
