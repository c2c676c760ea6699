# Look-alike: weights packed in the constructor, where they are on the CPU still.
# task: mlp
# expect: passed
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
        a, b = tl.load(x + m[:, None] * K + k[None, :]), tl.load(w + k[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc, input_precision="ieee")
    acc += tl.load(bias + n)[None, :]
    if GELU:
        acc = 0.5 * acc * (1 + tl.erf(acc * 0.7071067811865476))
    tl.store(y + m[:, None] * N + n[None, :], acc)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 32)
        for name, layer in (("first_packed", self.first), ("second_packed", self.second)):
            self.register_buffer(name, layer.weight.detach().t().contiguous(), persistent=False)

    def forward(self, x):
        h, y = torch.empty(16, 64, device=x.device), torch.empty(16, 32, device=x.device)
        linear[(2,)](x, self.first_packed, self.first.bias, h, 16, 64, 32, GELU=True, BM=16, BN=32, BK=32)
        linear[(1,)](h, self.second_packed, self.second.bias, y, 16, 32, 64, GELU=False, BM=16, BN=32, BK=32)
        return y
