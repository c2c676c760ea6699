"""Where the first true element of a row is."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, mask):
        return mask.float().argmax(dim=1)


def get_inputs():
    return [torch.rand(32, 64) > 0.7]


def get_init_inputs():
    return []
