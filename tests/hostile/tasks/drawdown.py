"""How far a running product has fallen from its highest value so far: exactly 0 wherever it only rises, if it is computed in order."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        worth = torch.cumprod(1 + 0.01 * x, dim=-1)
        peak = torch.cummax(worth, dim=-1).values
        return ((worth - peak) / peak).amin(-1)


def get_inputs():
    return [torch.randn(8, 32)]


def get_init_inputs():
    return []
