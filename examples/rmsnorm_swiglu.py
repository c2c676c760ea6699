"""RMSNorm followed by a SwiGLU feed-forward, as in Llama."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * scale * self.weight


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = RMSNorm(width)
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        y = self.norm(x)
        return self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


batch, length, width, hidden = 2, 64, 256, 384


def get_inputs():
    return [torch.randn(batch, length, width)]


def get_init_inputs():
    return [width, hidden]
