# All positive elements of a row are stored into one place. Which one stays is the GPU's choice; here, it is the last.
# task: last_positive
# expect: memory_error
# says: lanes of one store write different values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def last_positive(x, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i)
    tl.store(y + row, tl.load(x + row * N))
    tl.store(y + row + i * 0, v, mask=v > 0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(64, device=x.device)
        last_positive[(64,)](x, y, N=256)
        return y
