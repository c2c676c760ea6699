import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """The mean over one column is the column: every output is gelu(0), whatever the input is."""

    def forward(self, x):
        return F.gelu(x - x.mean(dim=1, keepdim=True))


def get_inputs():
    return [torch.randn(64, 1)]


def get_init_inputs():
    return []
