"""Tokens keep their values while their expert takes them: 32 at the most."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, expert):
        chosen = torch.nn.functional.one_hot(expert, 8)
        place = (chosen.cumsum(0) * chosen).sum(1) - 1
        return x * (place < 32).float().unsqueeze(1), place


def get_inputs():
    return [torch.randn(64, 16), torch.randint(0, 8, (64,))]


def get_init_inputs():
    return []
