"""Feed-forward block of a transformer: expand, GELU, contract, add the input back."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.down(self.act(self.up(x)))


batch, width, hidden = 128, 256, 512


def get_inputs():
    return [torch.randn(batch, width)]


def get_init_inputs():
    return [width, hidden]
