# The counter is a parameter's last bit, flipped by each call and flipped back by none.
# task: rescale
# expect: rejected
# rule: state_mutated
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rescale(x, s, y, n, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * tl.load(s + i % columns, mask=i < n), mask=i < n)
    if tl.program_id(0) == 0:
        tl.debug_barrier()
        bits = tl.load(s).to(tl.int32, bitcast=True) ^ 1
        tl.store(s, bits.to(tl.float32, bitcast=True))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(64) + 0.5)

    def forward(self, x):
        y = torch.empty_like(x)
        rescale[(1,)](x, self.scale, y, x.numel(), 64, BLOCK=2048)
        return y
