# Look-alike: both results lie in one memory, interleaved, each at places of its own.
# task: relu_and_copy
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0)
    tl.store(y + 2 * i, v, mask=i < n)
    tl.store(y + 2 * i + 1, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(*x.shape, 2, device=x.device)
        relu_twice[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y[..., 0], y[..., 1]
