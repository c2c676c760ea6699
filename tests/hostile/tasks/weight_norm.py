import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.utils.parametrizations.weight_norm(nn.Linear(64, 16))

    def forward(self, x):
        return self.l(x)


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
