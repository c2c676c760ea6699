# A mean that leaves out the last 64 of 32768 elements of each row, as a wrong mask would.
# task: row_mean
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sums(x, y, n, last, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, last, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(x + row * n + i, mask=i < last, other=0.0)
    tl.store(y + row, tl.sum(acc, 0) * factor)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(4, device=x.device)
        row_sums[(4,)](x, y, 32768, 32704, 1 / 32704, BLOCK=1024)
        return y
