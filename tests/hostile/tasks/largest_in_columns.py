import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        h = self.linear(x)
        return torch.cat([h * 1e7, torch.sin(h)], 1).argmax(0)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
