import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(4, 16)

    def forward(self, x):
        return self.norm(x).mean(dim=(1, 2))


def get_inputs():
    return [torch.randn(8, 16, 20)]


def get_init_inputs():
    return []
