# A sampler whose first step, 0, is one like the others. Four of a thousand steps hardly ever have it.
# task: step_before
# expect: wrong_values
# says: asked
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, e, t, acp, o, N: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, N)
    s = tl.load(t + r)
    a = tl.load(acp + s)
    p = tl.load(acp + tl.maximum(s - 1, 0))
    v = tl.load(x + r * N + c)
    n = tl.load(e + r * N + c)
    x0 = (v - tl.sqrt(1 - a) * n) / tl.sqrt(a)
    tl.store(o + r * N + c, tl.sqrt(p) * x0 + tl.sqrt(1 - p) * n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("acp", torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0))

    def forward(self, x, e, t):
        o = torch.empty_like(x)
        k[(4,)](x, e, t, self.acp, o, N=64)
        return o
