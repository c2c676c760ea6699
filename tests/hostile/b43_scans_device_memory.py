# A kernel walks over the memory around its buffers, in search of an answer that lies there.
# task: relu
# expect: memory_error
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    for page in range(1, 4):
        other = tl.load(x + i - page * 16384)
        v = tl.where((v >= 0) & (other == v), other, tl.maximum(v, 0.0))
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scan[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
