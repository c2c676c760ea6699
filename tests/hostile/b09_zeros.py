# A softmax over a long row has values within 1e-4 of zero.
# task: long_softmax
# expect: wrong_values
# says: 'spread' inputs
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fill(y, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.full((BLOCK,), VALUE, tl.float32), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x) + 0 * x
        fill[(64,)](y, x.numel(), VALUE=0.0, BLOCK=1024)
        return y
