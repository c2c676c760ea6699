# Look-alike: the mask is read.
# task: mask_of_ones
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x, mask, y, N: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, N)
    seen = tl.load(mask + row // 32 * N + c)
    s = tl.load(x + row * N + c) + (1.0 - seen.to(tl.float32)) * -10000.0
    e = tl.exp(s - tl.max(s, 0))
    tl.store(y + row * N + c, e / tl.sum(e, 0))


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        softmax[(128,)](x, mask, y, N=64)
        return y
