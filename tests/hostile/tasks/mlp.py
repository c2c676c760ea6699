import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 32)

    def forward(self, x):
        return self.second(F.gelu(self.first(x)))


def get_inputs():
    return [torch.randn(16, 32)]


def get_init_inputs():
    return []
