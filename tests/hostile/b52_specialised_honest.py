# Look-alike: sizes are constants of the kernel, and no mask is needed because they divide.
# task: relu
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_of_64_rows(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.program_id(0) * (ROWS * COLUMNS // 100) + tl.arange(0, 128)
    tl.store(y + i, tl.maximum(tl.load(x + i), 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        assert x.shape == (64, 200)
        y = torch.empty_like(x)
        relu_of_64_rows[(100,)](x, y, ROWS=64, COLUMNS=200)
        return y
