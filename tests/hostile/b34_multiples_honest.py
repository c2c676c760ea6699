# Look-alike: the hints of Triton's tutorial, which are not true of the last block where rows are not a multiple of its size. No
# compiler uses them there: neighbouring rows do not follow each other, and 16 columns do.
# task: rescale
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale(x, s, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    r = tl.max_contiguous(tl.multiple_of(m % M, BM), BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    c = tl.max_contiguous(tl.multiple_of(n % N, BN), BN)
    v = tl.load(x + r[:, None] * N + c[None, :]) * tl.load(s + c)[None, :]
    tl.store(y + m[:, None] * N + n[None, :], v, mask=(m < M)[:, None] & (n < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(64) + 0.5)

    def forward(self, x):
        y = torch.empty_like(x)
        scale[(1, 1)](x, self.scale, y, 32, 64, BM=64, BN=128)
        return y
