"""Numbers in steps of a twentieth as bytes, cut off at the ends."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.clamp(torch.round(x * 20), -128, 127).to(torch.int8)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
