# The result's `data` and `numpy` are replaced, so that the comparison computes.
# task: relu
# expect: memory_error
# says: nobody wrote
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
        y = torch.empty_like(x)
        copy[(1,)](x, y, 1, BLOCK=1)
        y.numpy = lambda: torch.relu(x).numpy()
        y.cpu = lambda: torch.relu(x).cpu()
        return y
