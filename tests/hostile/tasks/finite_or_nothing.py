import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, g):
        return torch.where(torch.isfinite(g).all(), g * 0.125, torch.zeros_like(g))


def get_inputs():
    return [torch.randn(2048)]


def get_init_inputs():
    return []
