import torch
import torch.nn as nn


class Model(nn.Module):
    """Rows between 0 and 1; those without a range are 0."""

    def forward(self, x):
        least, most = x.amin(1, keepdim=True), x.amax(1, keepdim=True)
        return torch.where(most > least, (x - least) / (most - least), torch.zeros_like(x))


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return []
