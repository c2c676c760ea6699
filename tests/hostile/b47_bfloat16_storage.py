# The arithmetic is fp32; what lies between two kernels is bfloat16.
# task: mlp
# expect: wrong_values
# rule: half
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 32)

    def forward(self, x):
        h = F.gelu(self.first(x))
        narrow = torch.empty_like(h, dtype=torch.bfloat16)
        copy[(1,)](h, narrow, h.numel(), BLOCK=1024)
        return self.second(narrow.float())
