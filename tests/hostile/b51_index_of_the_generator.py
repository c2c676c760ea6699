# The task's index is always 0, 1, 2, …, and the kernel counts on it. Integers that only say which elements are
# read may say any: the first and the last come at other places, too.
# task: arange_gather
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather(table, index, y, D: tl.constexpr):
    i, d = tl.program_id(0), tl.arange(0, D)
    row = i + 0 * tl.load(index + i)
    tl.store(y + i * D + d, tl.load(table + row * D + d) * 2)


class ModelNew(nn.Module):
    def forward(self, table, index):
        y = torch.empty(64, 32, device=table.device)
        gather[(64,)](table, index, y, D=32)
        return y
