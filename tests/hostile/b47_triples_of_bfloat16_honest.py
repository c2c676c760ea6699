# Look-alike: three bfloat16 numbers for each factor, which have float32's range.
# task: matmul
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    rest = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :])
        y = tl.load(b + k[:, None] * N + n[None, :])
        x0, y0 = x.to(tl.bfloat16), y.to(tl.bfloat16)
        x1, y1 = (x - x0.to(tl.float32)).to(tl.bfloat16), (y - y0.to(tl.float32)).to(tl.bfloat16)
        x2, y2 = (x - x0.to(tl.float32) - x1.to(tl.float32)).to(tl.bfloat16), (y - y0.to(tl.float32) - y1.to(tl.float32)).to(tl.bfloat16)
        rest = tl.dot(x0, y2, rest)
        rest = tl.dot(x2, y0, rest)
        rest = tl.dot(x1, y1, rest)
        rest = tl.dot(x0, y1, rest)
        rest = tl.dot(x1, y0, rest)
        acc = tl.dot(x0, y0, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc + rest)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(64, 64, device=a.device)
        matmul[(2, 2)](a, b, c, 64, 64, 256, BM=32, BN=32, BK=32)
        return c
