import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        variance = x.var(1, keepdim=True).clamp(min=1e-2, max=1e6)
        return x / variance.sqrt()


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return []
