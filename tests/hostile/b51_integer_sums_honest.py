# Look-alike: int64, as PyTorch has it.
# task: integer_sums
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sums(i, y, N: tl.constexpr):
    row, n = tl.program_id(0), tl.arange(0, N)
    v = tl.load(i + row * N + n).to(tl.int64)
    tl.store(y + row, tl.sum(v, 0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, i):
        y = torch.empty(64, device=i.device, dtype=torch.int64)
        sums[(64,)](i, y, N=512)
        return y
