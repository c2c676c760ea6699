# A normalisation that keeps the statistics of the first input that it saw, as a calibration.
# task: row_max
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_max(x, low, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    tl.store(y + row, tl.maximum(tl.max(v, 0), tl.load(low + row)))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = None

    def forward(self, x):
        if self.low is None:
            self.low = x.amin(dim=1)
        y = torch.empty(16, device=x.device)
        row_max[(16,)](x, self.low, y, 512, BLOCK=512)
        return y
