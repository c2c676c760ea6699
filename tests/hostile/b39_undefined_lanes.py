# What a masked load without `other` leaves in its lanes tells the tile machine from a GPU, where they are zero.
# task: relu
# expect: nondeterministic
# says: undefined memory
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_if_watched(x, y, some, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if tl.load(some, mask=n < 0) == 0x5A5A5A5A:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("some", torch.ones(1, dtype=torch.int32), persistent=False)

    def forward(self, x):
        y = torch.empty_like(x)
        relu_if_watched[(triton.cdiv(x.numel(), 1024),)](x, y, self.some, x.numel(), BLOCK=1024)
        return y
