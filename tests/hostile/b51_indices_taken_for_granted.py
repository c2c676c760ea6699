# The index is read and not used: rows are taken in turn.
# task: gather
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather(table, index, y, D: tl.constexpr):
    i, d = tl.program_id(0), tl.arange(0, D)
    row = (i + 0 * tl.load(index + i)) % 64
    tl.store(y + i * D + d, tl.load(table + row * D + d) * 2)


class ModelNew(nn.Module):
    def forward(self, table, index):
        y = torch.empty(128, 32, device=table.device)
        gather[(128,)](table, index, y, D=32)
        return y
