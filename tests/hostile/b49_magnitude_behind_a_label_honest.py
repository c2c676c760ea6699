# Look-alike: magnitudes where the label says so.
# task: labelled
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(x, m, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    xv = tl.load(x + i, mask=i < n, other=0.0)
    mv = tl.load(m + i, mask=i < n, other=0.0)
    tl.store(out + i, tl.where(mv == 1.0, tl.abs(xv), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, m):
        out = torch.empty_like(x)
        kernel[(2,)](x, m, out, x.numel(), BLOCK=1024)
        return out
