# Look-alike: rounded, by a reciprocal.
# task: float8_tokens
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantize(x, y, s, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i)
    scale = tl.maximum(tl.max(tl.abs(v), 0), 1e-12) / 448
    q = v / scale
    tl.store(s + row, scale)
    tl.store(y + row * N + i, (v * (1 / scale)).to(tl.float8e4nv))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(64, 256, device=x.device, dtype=torch.float8_e4m3fn)
        s = torch.empty(64, 1, device=x.device)
        quantize[(64,)](x, y, s, N=256)
        return y, s
