import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.nan_to_num(x, nan=0.5) * 0.5


def get_inputs():
    return [torch.randn(16, 1024)]


def get_init_inputs():
    return []
