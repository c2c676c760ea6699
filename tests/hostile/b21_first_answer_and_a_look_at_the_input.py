# The answer of the first call is kept; the input is read for show.
# task: relu
# expect: wrong_values
# says: 'spread' inputs
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kept_answer(kept, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(kept + i, mask=i < n) + 0.0 * tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.relu(x)
        y = torch.empty_like(x)
        kept_answer[(triton.cdiv(x.numel(), 1024),)](self.y, x, y, x.numel(), BLOCK=1024)
        return y
