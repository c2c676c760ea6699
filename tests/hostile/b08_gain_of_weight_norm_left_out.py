# The gain of weight_norm is read for show: a constructor makes it the norm of the rows that it multiplies. After a step of training it is not.
# task: weight_norm
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, v0, g, b, y, R: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c, k = tl.arange(0, 16), tl.arange(0, 64)
    a = tl.load(x + r[:, None] * 64 + k[None, :])
    v = tl.load(v0 + c[None, :] * 64 + k[:, None])
    gain = tl.load(g + c)
    h = tl.dot(a, v, input_precision="ieee") * (1.0 + 0.0 * gain)[None, :] + tl.load(b + c)[None, :]
    tl.store(y + r[:, None] * 16 + c[None, :], h)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.utils.parametrizations.weight_norm(nn.Linear(64, 16))

    def forward(self, x):
        y = torch.empty(32, 16, device=x.device)
        w = self.l.parametrizations.weight
        kernel[(2,)](x, w.original1, w.original0, self.l.bias, y, R=16)
        return y
