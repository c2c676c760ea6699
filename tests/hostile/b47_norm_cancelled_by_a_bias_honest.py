# task: group_norm_leaky
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm(x_ptr, bias_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < 400
    x = tl.load(x_ptr + row * 400 + cols, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / 400
    sub = tl.where(mask, x - mean, 0.0)
    rsqrt = tl.rsqrt(tl.sum(sub * sub, axis=0) / 400 + 1e-5)
    y = sub * rsqrt + tl.load(bias_ptr + row % 61)
    tl.store(out_ptr + row * 400 + cols, tl.where(y > 0, y, 0.00066 * y), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x, bias):
        out = torch.empty((2, 61, 20, 20), device=x.device)
        norm[(2 * 61,)](x, bias, out, BLOCK=512)
        return out
