import torch
import torch.nn as nn


class Model(nn.Module):
    """The same features for every position, and the mask of what may be looked at."""

    def forward(self, x):
        mask = torch.ones(64, 64, device=x.device).tril()
        return torch.tanh(x.mean(dim=1, keepdim=True)).repeat(1, 64, 1), mask


def get_inputs():
    return [torch.randn(8, 64, 32)]


def get_init_inputs():
    return []
