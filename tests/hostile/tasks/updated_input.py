import torch
import torch.nn as nn


class Model(nn.Module):
    """A state that is updated where it lies, and read afterwards."""

    def forward(self, x, state):
        state.mul_(0.5).add_(x)
        return torch.relu(state)


def get_inputs():
    return [torch.randn(64, 200), torch.randn(64, 200)]


def get_init_inputs():
    return []
