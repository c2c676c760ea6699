# The kernel copies out of memory that nobody wrote.
# task: relu
# expect: memory_error
# says: nobody
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
        answer = torch.relu(x)
        del answer
        stale, y = torch.empty_like(x), torch.empty_like(x)
        copy[(1,)](x, stale, 1, BLOCK=1)
        copy[(triton.cdiv(x.numel(), 1024),)](stale, y, x.numel(), BLOCK=1024)
        return y
