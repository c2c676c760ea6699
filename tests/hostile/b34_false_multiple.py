# The compiler is told that rows are read one after the other: it would read four at once from the first one's place.
# task: picked
# expect: memory_error
# says: max_contiguous
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pick(x, index, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(tl.load(index + i), BLOCK), BLOCK)
    tl.store(y + i, tl.load(x + at) * 2)


class ModelNew(nn.Module):
    def forward(self, x, index):
        y = torch.empty_like(x)
        pick[(4,)](x, index, y, BLOCK=256)
        return y
