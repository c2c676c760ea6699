# Divides by the count as it is: no segment was ever without rows.
# task: segment_means
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def means(x, segment, y, ROWS: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
    own, at = tl.program_id(0), tl.arange(0, D)
    total = tl.zeros((D,), tl.float32)
    count = 0.0
    for begin in range(0, ROWS, B):
        row = begin + tl.arange(0, B)
        mine = tl.load(segment + row) == own
        total += tl.sum(tl.load(x + row[:, None] * D + at[None, :], mask=mine[:, None], other=0.0), 0)
        count += tl.sum(mine.to(tl.float32), 0)
    tl.store(y + own * D + at, total / count)


class ModelNew(nn.Module):
    def forward(self, x, segment):
        y = torch.empty(16, 32, device=x.device)
        means[(16,)](x, segment, y, ROWS=512, D=32, B=64)
        return y
