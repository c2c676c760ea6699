# The address of the input goes to a kernel as a number, to be compared with the one of the last call.
# task: relu
# expect: rejected
# rule: raw_pointer
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cached(x, y, n, address, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if address != 4096:
        tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cached[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), x.data_ptr(), BLOCK=1024)
        return y
