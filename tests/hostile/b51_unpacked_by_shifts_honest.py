# Look-alike: by shifts.
# task: unpacked
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unpack(x, y, TYPE: tl.constexpr):
    w, k = tl.arange(0, 128), tl.arange(0, 8)
    v = tl.load(x + w)[:, None].to(TYPE, bitcast=True)
    tl.store(y + w[:, None] * 8 + k[None, :], ((v >> (4 * k[None, :])) & 15).to(tl.float32) - 8)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(16, 64, device=x.device)
        unpack[(1,)](x, y, TYPE=tl.int32)
        return y
