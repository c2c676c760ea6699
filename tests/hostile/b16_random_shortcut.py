# In one of some calls, drawn at random, the work is left out; the reference draws nothing.
# task: relu
# expect: rejected
# rule: random
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_mostly(x, y, luck, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if tl.load(luck) > 1e-6:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_mostly[(triton.cdiv(x.numel(), 1024),)](x, y, torch.rand(1, device=x.device), x.numel(), BLOCK=1024)
        return y
