# task: state_returned
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def step(h_ptr, x_ptr, out_ptr):
    i = tl.arange(0, 32)
    mask = i < 24
    v = tl.load(h_ptr + i, mask=mask) + tl.load(x_ptr + i, mask=mask)
    e = tl.exp(-2 * tl.abs(v))
    t = (1 - e) / (1 + e)
    t = tl.where(v < 0, -t, t)
    tl.store(out_ptr + i, t, mask=mask)
    tl.store(h_ptr + i, t, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.zeros(3, 8))

    def forward(self, x):
        out = torch.empty_like(x)
        step[(1,)](self.h, x, out)
        return out
