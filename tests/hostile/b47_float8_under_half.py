# A contract in fp16, worked out with the three bits of an 8-bit float.
# task: half_softmax
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0)).to(tl.float8e4nv).to(tl.float32)
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax[(16,)](x, y, 256, BLOCK=256)
        return y
