# task: masked_by_an_input
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked(scores, mask, out, columns, rows, per_batch, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(scores + row * columns + j, mask=j < columns, other=0.0)
    m = tl.load(mask + (row // per_batch * rows + row % rows) * columns + j, mask=j < columns, other=0.0)
    y = 3 * (2 / (1 + tl.exp(-2 * x)) - 1)
    tl.store(out + row * columns + j, y + m, mask=j < columns)


class ModelNew(nn.Module):
    def forward(self, scores, mask):
        out = torch.empty_like(scores)
        rows, columns = scores.shape[-2:]
        per_batch = scores.shape[1] * rows
        masked[(scores.numel() // columns,)](scores, mask, out, columns, rows, per_batch, BLOCK=triton.next_power_of_2(columns))
        return out
