import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("label", torch.tensor(3.0))

    def forward(self, x):
        return (x == self.label).float().sum(1)


def get_inputs():
    return [torch.randint(0, 5, (32, 64)).float()]


def get_init_inputs():
    return []
