# A bound behind a norm is left out: with biases as a constructor makes them nothing comes near it.
# task: bounded_norm
# expect: wrong_values
# says: parameters far from zero
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm(x, w, b, y, BOUND: tl.constexpr):
    i = tl.arange(0, 64)
    at = tl.program_id(0) * 64 + i
    v = tl.load(x + at)
    v -= tl.sum(v, 0) / 64
    v = v / tl.sqrt(tl.sum(v * v, 0) / 64 + 1e-5) * tl.load(w + i) + tl.load(b + i)
    tl.store(y + at, tl.minimum(tl.maximum(v, -BOUND), BOUND))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        y = torch.empty_like(x)
        norm[(32,)](x, self.norm.weight, self.norm.bias, y, BOUND=float("inf"))
        return y
