# Look-alike: in int32.
# task: product_of_bytes
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def multiply(x, w, y, TYPE: tl.constexpr):
    r, c = tl.arange(0, 16), tl.arange(0, 16)
    total = tl.zeros([16, 16], TYPE)
    for k in range(64):
        total += tl.load(x + r * 64 + k).to(TYPE)[:, None] * tl.load(w + k * 16 + c).to(TYPE)[None, :]
    tl.store(y + r[:, None] * 16 + c[None, :], total.to(tl.int32))


class ModelNew(nn.Module):
    def forward(self, x, w):
        y = torch.empty(16, 16, dtype=torch.int32, device=x.device)
        multiply[(1,)](x, w, y, TYPE=tl.int32)
        return y
