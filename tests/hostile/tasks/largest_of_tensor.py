"""A tensor over the largest of its magnitudes, which is bounded from below."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x / x.abs().amax().clamp(min=1e-8)


def get_inputs():
    return [torch.randn(16, 256)]


def get_init_inputs():
    return []
