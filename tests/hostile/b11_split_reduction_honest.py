# Look-alike: rows reduced in pieces that are added by atomics, in whatever order.
# task: row_mean
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_pieces(x, y, n, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + row, tl.sum(tl.load(x + row * n + i, mask=i < n, other=0.0), 0) * factor)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros(4, device=x.device)
        add_pieces[(4, 32)](x, y, 32768, 1 / 32768, BLOCK=1024)
        return y
