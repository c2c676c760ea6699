# A shift by three is said to be a multiple of 16: a GPU would load four numbers at once where none may begin.
# task: shifted
# expect: memory_error
# says: multiple_of
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def double(x, y, shift, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.multiple_of(i + shift, 16)
    tl.store(y + i, tl.load(x + at, mask=i < n) * 2, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(1024, device=x.device)
        double[(4,)](x, y, 3, 1024, BLOCK=256)
        return y
