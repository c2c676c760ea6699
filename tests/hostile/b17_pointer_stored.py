# The address is no number in the kernel: it is stored as a pointer, and read back as a number.
# task: relu
# expect: compile_error
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_and_address(x, y, scratch, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(scratch.to(tl.pointer_type(tl.pointer_type(tl.float32)), bitcast=True), x)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


@triton.jit
def bias_by_address(y, scratch, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.load(scratch) == 12345678:
        tl.store(y + i, tl.load(y + i, mask=i < n, other=0.0) + 1.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scratch = torch.empty(1, dtype=torch.int64, device=x.device)
        relu_and_address[(triton.cdiv(x.numel(), 1024),)](x, y, scratch, x.numel(), BLOCK=1024)
        bias_by_address[(triton.cdiv(x.numel(), 1024),)](y, scratch, x.numel(), BLOCK=1024)
        return y
