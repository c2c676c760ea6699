# A bound of weights is left out: those that a constructor makes do not come near it.
# task: clamped_weight
# expect: wrong_values
# says: parameters far from zero
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale(x, w, y, BOUND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = tl.minimum(tl.maximum(tl.load(w + i), -BOUND), BOUND)
    tl.store(y + i, tl.load(x + i) * factor)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(32, 64) * 0.1)

    def forward(self, x):
        y = torch.empty_like(x)
        scale[(2,)](x, self.weight, y, BOUND=float("inf"), BLOCK=1024)
        return y
