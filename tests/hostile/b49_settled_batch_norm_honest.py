# Look-alike: the epsilon is the reference's.
# task: settled_batch_norm
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm(x, gain, bias, mean, var, y, C: tl.constexpr, L: tl.constexpr, EPS: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, L)
    c = row % C
    s = tl.load(gain + c).to(tl.float32) * tl.rsqrt(tl.load(var + c).to(tl.float32) + EPS)
    v = (tl.load(x + row * L + i).to(tl.float32) - tl.load(mean + c).to(tl.float32)) * s
    tl.store(y + row * L + i, v + tl.load(bias + c).to(tl.float32))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(32, eps=1e-3).half().eval()

    def forward(self, x):
        y, n = torch.empty_like(x), self.norm
        norm[(256,)](x, n.weight, n.bias, n.running_mean, n.running_var, y, C=32, L=64, EPS=1e-3)
        return y
