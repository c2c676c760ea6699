import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("directions", torch.randn(64))

    def forward(self, x):
        return x * self.directions


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
