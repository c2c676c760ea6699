# Lanes read what other lanes of their program have just stored, and no barrier says that it is there yet.
# task: shifted
# expect: memory_error
# says: another lane of the program has written
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shifted(x, scratch, y, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(scratch + i, 2 * tl.load(x + i, mask=i < N, other=0.0), mask=i < N)
    tl.store(y + i, tl.load(scratch + i + 3, mask=i < N - 3), mask=i < N - 3)


class ModelNew(nn.Module):
    def forward(self, x):
        scratch, y = torch.empty_like(x), torch.empty(1024, device=x.device)
        shifted[(1,)](x, scratch, y, N=1027, B=2048)
        return y
