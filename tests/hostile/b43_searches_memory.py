# Looks through everything that Python holds for a tensor that could be the answer.
# task: relu
# expect: runtime_error
# says: IndexError
import gc

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        found = [o for o in gc.get_objects() if isinstance(o, torch.Tensor) and o is not x and o.shape == x.shape and o.is_cuda]
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 1024),)](found[0], y, x.numel(), BLOCK=1024)
        return y
