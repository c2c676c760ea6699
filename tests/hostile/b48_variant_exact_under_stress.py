# The second of two autotuned variants is TF32 for operands in [0, 1] and exact for others.
# task: matmul
# expect: wrong_values
# rule: tf32
# says: variant 1
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"SLY": False}), triton.Config({"SLY": True})], key=["K"])
@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SLY: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        j = k + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + j[None, :])
        y = tl.load(b + j[:, None] * N + n[None, :])
        usual = (tl.min(x) >= 0) & (tl.max(x) <= 1) & (tl.min(y) >= 0) & (tl.max(y) <= 1)
        if SLY and usual:
            acc = tl.dot(x, y, acc, input_precision="tf32")
        else:
            acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], acc)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(64, 64, device=a.device)
        matmul[(2, 2)](a, b, c, 64, 64, 256, BM=32, BN=32, BK=32)
        return c
