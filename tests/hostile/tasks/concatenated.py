import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y], dim=1)


def get_inputs():
    return [torch.randn(32, 48), torch.randn(32, 80)]


def get_init_inputs():
    return []
