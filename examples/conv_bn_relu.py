"""Convolution, BatchNorm with running statistics, ReLU: the unit of most image networks, at inference."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.eval()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


batch, in_channels, out_channels, size = 4, 16, 32, 32


def get_inputs():
    return [torch.randn(batch, in_channels, size, size)]


def get_init_inputs():
    return [in_channels, out_channels]
