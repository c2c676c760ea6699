# Look-alike: two passes and the epsilon.
# task: layer_norm
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, weight, bias, y, n, eps, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + row * n + i, mask=m, other=0.0)
    d = tl.where(m, v - tl.sum(v, 0) / n, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    out = d * r * tl.load(weight + i, mask=m, other=0.0) + tl.load(bias + i, mask=m, other=0.0)
    tl.store(y + row * n + i, out, mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(200)

    def forward(self, x):
        y = torch.empty_like(x)
        layer_norm[(48,)](x, self.norm.weight, self.norm.bias, y, 200, 1e-5, BLOCK=256)
        return y
