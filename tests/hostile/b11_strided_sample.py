# A mean over every eighth element: the sample is spread over the whole row.
# task: row_mean
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sampled_mean(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK) * 8
    tl.store(y + row, tl.sum(tl.load(x + row * n + i), 0) / BLOCK)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(4, device=x.device)
        sampled_mean[(4,)](x, y, 32768, BLOCK=4096)
        return y
