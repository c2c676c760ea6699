"""Attention weights: scaled q·kᵀ with an additive mask, softmax over the keys."""
import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.scale = 1.0 / math.sqrt(head_dim)

    def forward(self, q, k, mask):
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        return torch.softmax(scores + mask, dim=-1)


batch, heads, length, head_dim = 2, 4, 128, 64


def get_inputs():
    q = torch.randn(batch, heads, length, head_dim)
    k = torch.randn(batch, heads, length, head_dim)
    mask = torch.triu(torch.full((length, length), -1e4), diagonal=1)
    return [q, k, mask]


def get_init_inputs():
    return [head_dim]
