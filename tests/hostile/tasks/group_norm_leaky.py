"""A norm of ones and zeros is two numbers near one; a bias cancels one of them, and the other is all but cut off."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, bias):
        return F.leaky_relu(F.group_norm(x, 61, bias=bias), 0.00066)


def get_inputs():
    return [torch.randn(2, 61, 20, 20), torch.randn(61)]


def get_init_inputs():
    return []
