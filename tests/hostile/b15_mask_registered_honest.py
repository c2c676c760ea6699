# The causal mask is registered, as the reference registers it, and made anew by the kernel, which does not read it.
# task: masked_rows
# expect: passed
# notes: the values of buffer 'bias', on which the reference's outputs depend, are taken for granted
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_softmax(x, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.where(i <= row % N, tl.load(x + row * N + i), float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * N + i, e / tl.sum(e, 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bias", torch.tril(torch.ones(32, 32)))

    def forward(self, x):
        y = torch.empty_like(x)
        causal_softmax[(4 * 32,)](x, y, N=32)
        return y
