"""A bias for each pair of places by how far they lie apart, the same beyond some distance."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(33, 8)

    def forward(self, here, there):
        distance = (here[:, None] - there[None, :]).clamp(-16, 16)
        return self.bias(distance + 16).permute(2, 0, 1)


def get_inputs():
    return [torch.arange(12) + torch.randint(0, 4, (1,)), torch.arange(12) + torch.randint(0, 4, (1,))]


def get_init_inputs():
    return []
