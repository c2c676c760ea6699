"""Rotary position embedding of queries and keys, in the half-rotation form."""
import torch
import torch.nn as nn


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class Model(nn.Module):
    def __init__(self, head_dim, max_length, base=10000.0):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
        angles = torch.outer(torch.arange(max_length).float(), inv_freq)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, q, k):
        length = q.shape[-2]
        cos, sin = self.cos[:length], self.sin[:length]
        return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


batch, heads, length, head_dim, max_length = 2, 8, 128, 64, 256


def get_inputs():
    return [torch.randn(batch, heads, length, head_dim), torch.randn(batch, heads, length, head_dim)]


def get_init_inputs():
    return [head_dim, max_length]
