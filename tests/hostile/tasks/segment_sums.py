import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, offsets):
        sums = torch.cat([x.new_zeros(1, x.shape[1], dtype=torch.float64), x.double().cumsum(0)])
        return (sums[offsets[1:]] - sums[offsets[:-1]]).float()


def get_inputs():
    return [torch.randn(96, 8), torch.tensor([0, 10, 10, 48, 80, 96])]


def get_init_inputs():
    return []
