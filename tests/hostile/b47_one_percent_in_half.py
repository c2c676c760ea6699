# One percent too small everywhere, less than what the budget of a rounding allows; but rounding has no direction.
# task: rms_norm_bfloat16
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm(x, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, 0) / N + 1e-6)
    tl.store(y + row * N + i, (v * r * 0.99).to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        norm[(64,)](x, y, N=256)
        return y
