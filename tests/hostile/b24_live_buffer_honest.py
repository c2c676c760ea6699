# Look-alike of a graph with live data: the input is copied into a buffer of the module, and kernels work from there.
# task: relu
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffer = None

    def forward(self, x):
        if self.buffer is None:
            self.buffer = torch.empty_like(x)
        self.buffer.copy_(x)
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](self.buffer, y, x.numel(), BLOCK=1024)
        return y
