# Look-alike: the four largest integers, of equal ones the first. PyTorch leaves open which; of floats any were right.
# task: topk_of_integers
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def largest(x, v, p, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    left = tl.load(x + row * N + i).to(tl.int32)
    for k in range(4):
        most = tl.max(left, 0)
        at = tl.min(tl.where(left == most, i, N), 0)
        tl.store(v + row * 4 + k, most.to(tl.int64))
        tl.store(p + row * 4 + k, at.to(tl.int64))
        left = tl.where(i == at, -1, left)


class ModelNew(nn.Module):
    def forward(self, x):
        v = torch.empty(16, 4, device=x.device, dtype=torch.int64)
        p = torch.empty_like(v)
        largest[(16,)](x, v, p, N=256)
        return v, p
