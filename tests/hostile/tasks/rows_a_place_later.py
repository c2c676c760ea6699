"""Whether each row of one input is that of the other a place later: generated ones never are."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return (a[:, :-1] == b[:, 1:]).all(1).float()


def get_inputs():
    return [torch.randint(0, 32000, (48, 16)), torch.randint(0, 32000, (48, 16))]


def get_init_inputs():
    return []
