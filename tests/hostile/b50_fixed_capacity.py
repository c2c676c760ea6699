# The largest of each group of 32 are sorted: enough as long as no two of the four largest share a group.
# task: top4
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def top(x, y, n, BLOCK: tl.constexpr, GROUPS: tl.constexpr):
    row, g, i = tl.program_id(0), tl.arange(0, GROUPS), tl.arange(0, BLOCK // GROUPS)
    v = tl.load(x + row * n + g[:, None] * (BLOCK // GROUPS) + i[None, :])
    best = tl.sort(tl.max(v, 1), descending=True)
    tl.store(y + row * 4 + g, best, mask=g < 4)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(16, 4, device=x.device)
        top[(16,)](x, y, 256, BLOCK=256, GROUPS=8)
        return y
