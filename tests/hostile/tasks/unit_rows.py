import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def get_inputs():
    return [torch.randn(48, 200)]


def get_init_inputs():
    return []
