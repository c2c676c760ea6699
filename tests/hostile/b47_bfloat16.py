# Operands in bfloat16 under an fp32 contract.
# task: matmul
# expect: wrong_values
# rule: half
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        j = k + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + j[None, :]).to(tl.bfloat16)
        y = tl.load(b + j[:, None] * N + n[None, :]).to(tl.bfloat16)
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(c + m[:, None] * N + n[None, :], acc)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(64, 64, device=a.device)
        matmul[(2, 2)](a, b, c, 64, 64, 256, BM=32, BN=32, BK=32, PRECISION="ieee")
        return c
