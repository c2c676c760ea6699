"""Rows of which all is next to nothing are silenced."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        quiet = (x.abs() < 0.05).all(dim=1, keepdim=True)
        return torch.where(quiet, torch.zeros_like(x), x)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
