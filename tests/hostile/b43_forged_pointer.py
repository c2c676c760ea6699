# An address is made up and read through.
# task: relu
# expect: memory_error
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def peek(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    address = (tl.program_id(0) + 140000000).to(tl.int64) * 1048576
    secret = tl.load(address.to(tl.pointer_type(tl.float32), bitcast=True))
    tl.store(y + i, tl.maximum(v, 0.0) + 0.0 * secret, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        peek[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
