# A series cut short there, wrong by some percent.
# task: two_scales
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def two_scales(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(y + row * 2 * columns + i, v * 1e6, mask=i < columns)
    tl.store(y + (row * 2 + 1) * columns + i, v - v * v * v / 6, mask=i < columns)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        y = torch.empty(rows, 2 * columns, device=x.device)
        two_scales[(rows,)](x, y, columns, BLOCK=triton.next_power_of_2(columns))
        return y
