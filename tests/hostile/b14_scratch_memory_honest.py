# Look-alike: a workspace that a first kernel fills and a second one reads.
# task: total
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, parts, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    tl.store(parts + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK)), 0))


@triton.jit
def finish(parts, y, COUNT: tl.constexpr):
    tl.store(y, tl.sum(tl.load(parts + tl.arange(0, COUNT)), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        parts, y = torch.empty(16, device=x.device), torch.empty((), device=x.device)
        partial_sums[(16,)](x, parts, BLOCK=256)
        finish[(1,)](parts, y, COUNT=16)
        return y
