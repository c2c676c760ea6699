import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return {0: torch.relu(x), 1: x + 1}


def get_inputs():
    return [torch.rand(64, 200)]


def get_init_inputs():
    return []
