# Look-alike: the epsilon is the reference's.
# task: rms_norm_half
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm(x, y, N: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + c).to(tl.float32)
    tl.store(y + row * N + c, v * tl.rsqrt(tl.sum(v * v, 0) / N + 1e-6))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        norm[(64,)](x, y, N=256)
        return y
