# Look-alike: the text of a reference that compiles is there, and is not called.
# task: mlp
# expect: passed
# share: at most 0.2
import torch
import torch.nn as nn
import triton
import triton.language as tl


@torch.compile(dynamic=False)
def plain(x):
    return torch.nn.functional.gelu(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 32)
        self.all = torch.compile(self.reference)

    def reference(self, x):
        return self.second(plain(self.first(x)))


@triton.jit
def gelu(x, bias, y, n, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0) + tl.load(bias + i % columns, mask=i < n, other=0.0)
    tl.store(y + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=i < n)


class ModelNew(Model):
    def forward(self, x):
        h = x @ self.first.weight.t()
        g = torch.empty_like(h)
        gelu[(4,)](h, self.first.bias, g, h.numel(), 64, BLOCK=256)
        return self.second(g)
