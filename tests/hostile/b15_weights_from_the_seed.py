# The weights that are used are drawn first, as the reference draws its own; those that have the names come after them, are bound, and
# are read for show. Whoever loads others into them gets the old answers.
# task: mlp
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear(x, w, shown, bias, y, M, N, K, GELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        at = n[None, :] * K + k[:, None]
        a, b = tl.load(x + m[:, None] * K + k[None, :]), tl.load(w + at) + 0.0 * tl.load(shown + at)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    acc += tl.load(bias + n)[None, :]
    if GELU:
        acc = 0.5 * acc * (1 + tl.erf(acc * 0.7071067811865476))
    tl.store(y + m[:, None] * N + n[None, :], acc)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = [nn.Linear(32, 64), nn.Linear(64, 32)]
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 32)
        self.used = None

    def forward(self, x):
        if self.used is None:
            self.used = [(layer.weight.to(x.device), layer.bias.to(x.device)) for layer in self.own]
        (w1, b1), (w2, b2) = self.used
        h, y = torch.empty(16, 64, device=x.device), torch.empty(16, 32, device=x.device)
        linear[(2,)](x, w1, self.first.weight, b1 + 0.0 * self.first.bias, h, 16, 64, 32, GELU=True, BM=16, BN=32, BK=32)
        linear[(1,)](h, w2, self.second.weight, b2 + 0.0 * self.second.bias, y, 16, 32, 64, GELU=False, BM=16, BN=32, BK=32)
        return y
