# Copies of layout, which strict mode allows, move all rows but the last one.
# task: concatenated
# expect: rejected
# rule: strict
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def last_row(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + 31 * 128 + i, tl.load(x + 31 * 48 + i, mask=i < 48), mask=i < 48)
    tl.store(out + 31 * 128 + 48 + i, tl.load(y + 31 * 80 + i, mask=i < 80), mask=i < 80)


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty(32, 128, device=x.device)
        out[:31, :48].copy_(x[:31])
        out[:31, 48:].copy_(y[:31])
        last_row[(1,)](x, y, out, BLOCK=128)
        return out
