import torch
import torch.nn as nn


class Model(nn.Module):
    """Distances between points; of more than 25, PyTorch makes them of products."""

    def forward(self, x, y):
        return torch.cdist(x, y)


def get_inputs():
    return [torch.randn(64, 32), torch.randn(64, 32)]


def get_init_inputs():
    return []
