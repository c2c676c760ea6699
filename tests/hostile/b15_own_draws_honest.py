# Look-alike: weights under the reference's names, drawn in another way and written over when they are bound; a second draw is never used.
# task: mlp
# expect: passed
import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear(x, w, bias, y, M, N, K, GELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a, b = tl.load(x + m[:, None] * K + k[None, :]), tl.load(w + n[None, :] * K + k[:, None])
        acc = tl.dot(a, b, acc, input_precision="ieee")
    acc += tl.load(bias + n)[None, :]
    if GELU:
        acc = 0.5 * acc * (1 + tl.erf(acc * 0.7071067811865476))
    tl.store(y + m[:, None] * N + n[None, :], acc)


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / math.sqrt(inputs))
        self.bias = nn.Parameter((torch.rand(outputs) - 0.5) * 0.1)
        self.noise = torch.randn(outputs)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Layer(32, 64)
        self.second = Layer(64, 32)

    def forward(self, x):
        h, y = torch.empty(16, 64, device=x.device), torch.empty(16, 32, device=x.device)
        linear[(2,)](x, self.first.weight, self.first.bias, h, 16, 64, 32, GELU=True, BM=16, BN=32, BK=32)
        linear[(1,)](h, self.second.weight, self.second.bias, y, 16, 32, 64, GELU=False, BM=16, BN=32, BK=32)
        return y
