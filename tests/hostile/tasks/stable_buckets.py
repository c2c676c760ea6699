import torch
import torch.nn as nn


class Model(nn.Module):
    """Tokens by expert: the places of the numbers 0 to 7, those of equal ones from left to right."""

    def forward(self, expert):
        return torch.argsort(expert, stable=True)


def get_inputs():
    return [torch.randint(0, 8, (256,))]


def get_init_inputs():
    return []
