# Look-alike: the product stays with the library, the rest is fused into a kernel. Hybrid mode allows it and says how
# much of the work is Triton.
# task: mlp
# expect: passed
# share: at most 0.2
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gelu(x, bias, y, n, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0) + tl.load(bias + i % columns, mask=i < n, other=0.0)
    tl.store(y + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 32)

    def forward(self, x):
        h = x @ self.first.weight.t()
        g = torch.empty_like(h)
        gelu[(4,)](h, self.first.bias, g, h.numel(), 64, BLOCK=256)
        return self.second(g)
