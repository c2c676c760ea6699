import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(64, 256), torch.rand(256, 64)]


def get_init_inputs():
    return []
