# Look-alike of lower precision: float32 throughout. Decays of 1% around one number are off alike, and 64 of them are
# multiplied.
# task: decaying_state
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(x, a, b, c, y):
    batch, channel, n = tl.program_id(0), tl.program_id(1), tl.arange(0, 16)
    h = tl.zeros((16,), dtype=tl.float32)
    for k in range(64):
        step = batch * 64 + k
        decay = tl.exp(tl.load(a + step))
        h = h * decay + tl.load(x + step * 64 + channel) * tl.load(b + step * 16 + n)
        tl.store(y + step * 64 + channel, tl.sum(h * tl.load(c + step * 16 + n), 0))


class ModelNew(nn.Module):
    def forward(self, x, a, b, c):
        y = torch.empty(2, 64, 64, device=x.device)
        scan[(2, 64)](x, a, b, c, y)
        return y
