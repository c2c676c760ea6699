# Copies, which are charged to nobody, do all that there is to do; the launch writes back what it reads.
# task: concatenated
# expect: rejected
# rule: no_triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def touch(y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(y + i) * 1.0)


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty(32, 128, device=x.device)
        out[:, :48].copy_(x)
        out[:, 48:].copy_(y)
        touch[(1,)](out, BLOCK=64)
        return out
