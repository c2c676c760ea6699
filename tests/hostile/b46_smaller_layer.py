# The layer is made smaller than the task says.
# task: mlp
# expect: wrong_shape
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
        self.first = nn.Linear(32, 8)
        self.second = nn.Linear(8, 8)

    def forward(self, x):
        h = F.gelu(self.first(x))
        y = torch.empty_like(h)
        copy[(1,)](h, y, h.numel(), BLOCK=1024)
        return self.second(y)
