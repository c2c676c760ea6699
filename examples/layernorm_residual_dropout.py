"""Sub-layer output of a post-norm transformer: dropout (off in eval), residual, LayerNorm."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, p):
        super().__init__()
        self.dropout = nn.Dropout(p)
        self.norm = nn.LayerNorm(width)
        self.eval()

    def forward(self, x, residual):
        return self.norm(residual + self.dropout(x))


batch, length, width = 4, 128, 768


def get_inputs():
    return [torch.randn(batch, length, width), torch.randn(batch, length, width)]


def get_init_inputs():
    return [width, 0.1]
