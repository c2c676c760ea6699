import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.PReLU()

    def forward(self, x):
        return self.slope(x)


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
