# As a view, whose storage is the input's.
# task: relu
# expect: rejected
# rule: output_aliases
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        copy[(1,)](x, x, 1, BLOCK=1)
        return x.view(-1).view(64, 200)
