# The maximum is taken in front of the norm's gain and shift, which is the same as long as no gain is negative.
# task: norm_relu_pool
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, mean, var, w, b, y):
    p = tl.program_id(0)
    c = p % 8
    o, q = tl.arange(0, 16), tl.arange(0, 4)
    at = (o // 4 * 2)[:, None] * 8 + (o % 4 * 2)[:, None] + (q // 2)[None, :] * 8 + (q % 2)[None, :]
    v = tl.load(x + p * 64 + at)
    s = tl.load(w + c) / tl.sqrt(tl.load(var + c) + 1e-5)
    t = tl.load(b + c) - tl.load(mean + c) * s
    h = tl.maximum(tl.max(v, 1) * s + t, 0.0)
    tl.store(y + p * 16 + o, h)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(8)
        self.bn.eval()

    def forward(self, x):
        y = torch.empty(2, 8, 4, 4, device=x.device)
        kernel[(16,)](x, self.bn.running_mean, self.bn.running_var, self.bn.weight, self.bn.bias, y)
        return y
