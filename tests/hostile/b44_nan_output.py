# NaN everywhere, for checks in which every comparison with NaN is in favour.
# task: relu
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
        y = torch.empty_like(x)
        fill[(16,)](y, x.numel(), VALUE=float("nan"), BLOCK=1024)
        return y + x
