"""What a detector or a router picks by scores that saturate: where biases are large all are 1, and any may come first."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(16))
        self.table = nn.Parameter(torch.randn(16, 4))

    def forward(self, x):
        scores, places = torch.sigmoid(x + self.bias).topk(2, dim=1)
        return scores, self.table[places]


def get_inputs():
    return [torch.randn(32, 16)]


def get_init_inputs():
    return []
