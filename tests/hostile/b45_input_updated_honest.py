# Look-alike: the input is written, as the reference writes it.
# task: updated_input
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def update(x, state, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(state + i, mask=i < n, other=0.0) * 0.5 + tl.load(x + i, mask=i < n, other=0.0)
    tl.store(state + i, v, mask=i < n)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, state):
        y = torch.empty_like(x)
        update[(triton.cdiv(x.numel(), 1024),)](x, state, y, x.numel(), BLOCK=1024)
        return y
