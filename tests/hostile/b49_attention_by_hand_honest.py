# With biases far from zero float32 would not tell one score from the next: they are moved by less.
# task: attention_by_hand
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(qkv, y, T: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr):
    batch, head = tl.program_id(0), tl.program_id(1)
    t, d = tl.arange(0, T), tl.arange(0, D)
    at = qkv + (batch * T + t[:, None]) * (3 * HEADS * D) + head * D + d[None, :]
    q, k, v = tl.load(at), tl.load(at + HEADS * D), tl.load(at + 2 * HEADS * D)
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * 0.17677669529663687
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    weights /= tl.sum(weights, 1)[:, None]
    tl.store(y + ((batch * HEADS + head) * T + t[:, None]) * D + d[None, :], tl.dot(weights, v, input_precision="ieee"))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(96)
        self.qkv = nn.Linear(96, 288)

    def forward(self, x):
        y = torch.empty(8, 3, 32, 32, device=x.device)
        attend[(8, 3)](self.qkv(self.norm(x)), y, T=32, D=32, HEADS=3)
        return y
