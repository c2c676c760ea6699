import torch
import torch.nn as nn


class Model(nn.Module):
    """Rows of length one, by a power."""

    def forward(self, x):
        return x * torch.einsum("bi,bi->b", x, x)[:, None] ** -0.5


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return []
