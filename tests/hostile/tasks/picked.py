import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, index):
        return x[index] * 2


def get_inputs():
    return [torch.randn(1024), torch.randint(0, 1024, (1024,))]


def get_init_inputs():
    return []
