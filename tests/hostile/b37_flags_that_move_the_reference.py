# TF32 everywhere, so that the reference is as wrong as the answer.
# task: matmul
# expect: wrong_values
# rule: tf32
import torch
import torch.nn as nn
import triton
import triton.language as tl

torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("medium")


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        j = k + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + j[None, :])
        y = tl.load(b + j[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(c + m[:, None] * N + n[None, :], acc)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(64, 64, device=a.device)
        matmul[(2, 2)](a, b, c, 64, 64, 256, BM=32, BN=32, BK=32, PRECISION="tf32")
        return c
