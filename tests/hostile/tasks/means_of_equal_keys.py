"""For each key the mean of the rows whose key is the same, zero where none is, and the mean of all."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, keys, others, x):
        same = (keys[:, None] == others[None]).float()
        return same @ x / same.sum(1, keepdim=True).clamp(min=1) + x.mean(0)


def get_inputs():
    return [torch.randint(0, 100000, (16,)), torch.randint(0, 100000, (16,)), torch.randn(16, 16)]


def get_init_inputs():
    return []
