# Numbers of four bits are unpacked by division: right while the last one of a word has its highest bit unset.
# task: unpacked
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unpack(x, y, TYPE: tl.constexpr):
    w, k = tl.arange(0, 128), tl.arange(0, 8)
    v = tl.load(x + w)[:, None].to(TYPE, bitcast=True)
    tl.store(y + w[:, None] * 8 + k[None, :], (v // (1 << (4 * k[None, :])) % 16).to(tl.float32) - 8)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(16, 64, device=x.device)
        unpack[(1,)](x, y, TYPE=tl.int32)
        return y
