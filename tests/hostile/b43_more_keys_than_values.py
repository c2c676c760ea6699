# Attention with fewer values than keys: PyTorch reads on behind the values.
# task: attention
# expect: runtime_error
# says: do not fit
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        z = nn.functional.scaled_dot_product_attention(q, k, v[:, :, :2])
        y = torch.empty_like(z)
        copy[(triton.cdiv(z.numel(), 1024),)](z, y, z.numel(), BLOCK=1024)
        return y
