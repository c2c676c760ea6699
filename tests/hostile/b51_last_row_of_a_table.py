# The last of 5000 rows is zeros: an index that 64 drawn ones hardly ever are.
# task: rows_of_a_table
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather(index, table, y, last, D: tl.constexpr):
    row, d = tl.program_id(0), tl.arange(0, D)
    at = tl.load(index + row)
    tl.store(y + row * D + d, tl.load(table + at * D + d, mask=(d < D) & (at < last), other=0.0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(5000, 32))

    def forward(self, i):
        y = torch.empty(64, 32, device=i.device)
        gather[(64,)](i, self.table, y, 4999, D=32)
        return y
