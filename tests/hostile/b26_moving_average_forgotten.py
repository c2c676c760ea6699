# The buffer's first values in every call: right in the first one, as long as nobody calls twice.
# task: moving_average
# expect: wrong_values
# says: in a row
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm(x, w, g, y, N: tl.constexpr):
    r = tl.program_id(0) * 16 + tl.arange(0, 16)
    c = tl.arange(0, N)
    a = tl.load(x + r[:, None] * N + c[None, :])
    b = tl.load(w + c[:, None] * N + c[None, :]) * tl.load(g + c)[None, :]
    tl.store(y + r[:, None] * N + c[None, :], tl.dot(a, b, input_precision="ieee"))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(32, 32))
        self.register_buffer("gain", torch.ones(32))

    def forward(self, x):
        gain = self.gain.mul(0.9).add_(x.mean(0), alpha=0.1)
        y = torch.empty(x.shape[0], 32, device=x.device)
        mm[(x.shape[0] // 16,)](x, self.w, gain, y, N=32)
        return y
