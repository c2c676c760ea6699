# Not the answer is kept but what is made of the input: here its transposed copy.
# task: matmul
# expect: wrong_values
# says: input 1 cannot reach any output
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
        x = tl.load(a + m[:, None] * K + j[None, :])
        y = tl.load(b + j[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(c + m[:, None] * N + n[None, :], acc)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.packed = None

    def forward(self, a, b):
        if self.packed is None:
            self.packed = b.t().contiguous()
        c = torch.empty(64, 64, device=a.device)
        matmul[(2, 2)](a, self.packed.t().contiguous(), c, 64, 64, 256, BM=32, BN=32, BK=32, PRECISION="ieee")
        return c
