"""A recurrent state in a buffer, which forward updates and returns: the next call writes over what the last one gave."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.zeros(3, 8))

    def forward(self, x):
        self.h.copy_(torch.tanh(self.h + x))
        return self.h


def get_inputs():
    return [torch.randn(3, 8)]


def get_init_inputs():
    return []
