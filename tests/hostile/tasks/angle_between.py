"""The angle between two rows, of which the cosine is kept off the ends where rounding would leave them."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, y):
        cosine = (F.normalize(x, dim=1) * F.normalize(y, dim=1)).sum(1)
        return torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))


def get_inputs():
    return [torch.randn(64, 128), torch.randn(64, 128)]


def get_init_inputs():
    return []
