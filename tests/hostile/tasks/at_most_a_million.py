import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.clamp(x * 0.5, -1e6, 1e6) + 1


def get_inputs():
    return [torch.randn(16, 1024)]


def get_init_inputs():
    return []
