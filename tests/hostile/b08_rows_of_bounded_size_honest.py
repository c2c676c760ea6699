# Look-alike: with the bound.
# task: rows_of_bounded_size
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def look_up(i, table, y, D: tl.constexpr):
    r, d = tl.program_id(0), tl.arange(0, D)
    row = tl.load(table + tl.load(i + r) * D + d)
    size = tl.sqrt(tl.sum(row * row, 0))
    tl.store(y + r * D + d, row * tl.minimum(2.0 / size, 1.0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(50, 32) * 0.02)

    def forward(self, i):
        y = torch.empty(128, 32, device=i.device)
        look_up[(128,)](i, self.table, y, D=32)
        return y
