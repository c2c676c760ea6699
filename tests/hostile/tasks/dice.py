"""One minus the overlap of what is predicted and what is there; of nothing and nothing it is whole."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, target):
        predicted, target = torch.sigmoid(x).flatten(1), target.flatten(1)
        both = (predicted * target).sum(1)
        return 1 - (2 * both + 1e-6) / (predicted.sum(1) + target.sum(1) + 1e-6)


def get_inputs():
    return [torch.randn(8, 1, 32, 32), (torch.rand(8, 1, 32, 32) > 0.5).float()]


def get_init_inputs():
    return []
