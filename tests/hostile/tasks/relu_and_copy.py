import torch
import torch.nn as nn


class Model(nn.Module):
    """Two results with the same values, each in memory of its own."""

    def forward(self, x):
        y = torch.relu(x)
        return y, y.clone()


def get_inputs():
    return [torch.rand(64, 200)]


def get_init_inputs():
    return []
