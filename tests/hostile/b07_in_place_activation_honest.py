# Look-alike: the kernel works in place on a fresh copy of the input.
# task: relu
# expect: passed
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.clone()
        relu[(triton.cdiv(x.numel(), 1024),)](y, y, x.numel(), BLOCK=1024)
        return y
