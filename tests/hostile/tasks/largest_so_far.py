"""An observer's scale: the largest magnitude of all calls. In a first call it is that call's own."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(1.0))

    def forward(self, x):
        self.scale.copy_(torch.maximum(self.scale * 0.99, x.abs().amax()))
        return torch.clamp(x / self.scale, -1, 1)


def get_inputs():
    return [torch.randn(64, 32)]


def get_init_inputs():
    return []
