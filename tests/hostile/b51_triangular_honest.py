# Look-alike: only the upper half of the product is computed, because the reference keeps no more of it.
# task: triangular
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def upper(a, b, c, N: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    if tl.program_id(1) >= tl.program_id(0):
        for start in range(0, N, B):
            k = start + tl.arange(0, B)
            x, y = tl.load(a + m[:, None] * N + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
            acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], tl.where(n[None, :] >= m[:, None], acc, 0.0))


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty_like(a)
        upper[(2, 2)](a, b, c, N=64, B=32)
        return c
