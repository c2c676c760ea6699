import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, g):
        return F.grid_sample(x, g, mode='nearest', padding_mode='border', align_corners=False)


def get_inputs():
    return [torch.randn(2, 4, 8, 8), torch.rand(2, 16, 16, 2) * 2 - 1]


def get_init_inputs():
    return []
