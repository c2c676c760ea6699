import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, m):
        return torch.where(m == 1, x.abs(), torch.zeros_like(x))


def get_inputs():
    return [torch.rand(32, 64), torch.randint(0, 2, (32, 64)).float()]


def get_init_inputs():
    return []
