import torch
import torch.nn as nn


class Model(nn.Module):
    """What is behind in a row is a millionth of what stands in front."""

    def forward(self, x):
        return torch.cat([x * 1e6, torch.sin(x)], dim=1)


def get_inputs():
    return [torch.randn(48, 96)]


def get_init_inputs():
    return []
