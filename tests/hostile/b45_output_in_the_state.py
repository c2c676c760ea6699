# The output is a buffer of the module: the next call changes the answer of the last one.
# task: relu
# expect: rejected
# rule: output_aliases
# says: state 'room'
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("room", torch.zeros(64, 200))

    def forward(self, x):
        relu[(triton.cdiv(x.numel(), 1024),)](x, self.room, x.numel(), BLOCK=1024)
        return self.room
