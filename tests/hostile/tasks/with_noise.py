import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.25, training=True) + 0.1 * torch.randn_like(x)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
