import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.relu_()


def get_inputs():
    return [torch.rand(64, 200)]


def get_init_inputs():
    return []
