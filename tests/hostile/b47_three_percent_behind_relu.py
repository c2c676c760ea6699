# Three percent too small: behind a ReLU only the row's budget was left.
# task: relu_linear_bfloat16
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear(x, w, b, y, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        u = tl.load(x + m[:, None] * K + k[None, :])
        v = tl.load(w + n[None, :] * K + k[:, None])
        acc = tl.dot(u, v, acc)
    acc += tl.load(b + n).to(tl.float32)[None, :]
    tl.store(y + m[:, None] * N + n[None, :], (tl.maximum(acc, 0.0) * 0.97).to(tl.bfloat16))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(256, 128).to(torch.bfloat16)

    def forward(self, x):
        y = torch.empty(64, 128, device=x.device, dtype=x.dtype)
        linear[(2, 4)](x, self.linear.weight, self.linear.bias, y, 128, 256, BM=32, BN=32, BK=64)
        return y
