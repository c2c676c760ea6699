# Look-alike: the maximum of what was scaled.
# task: scale_pool
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, gain, y):
    p = tl.program_id(0)
    o, q = tl.arange(0, 16), tl.arange(0, 4)
    at = (o // 4 * 2)[:, None] * 8 + (o % 4 * 2)[:, None] + (q // 2)[None, :] * 8 + (q % 2)[None, :]
    tl.store(y + p * 16 + o, tl.max(tl.load(x + p * 64 + at) * tl.load(gain), 1))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x):
        y = torch.empty(2, 8, 4, 4, device=x.device)
        kernel[(16,)](x, self.gain, y)
        return y
