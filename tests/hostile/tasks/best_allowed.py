import torch
import torch.nn as nn


class Model(nn.Module):
    """Shares of the two best scores that a mask allows."""

    def forward(self, q, m):
        return torch.softmax(q.masked_fill(~m, float("-inf")).topk(2, 1).values, 1)


def get_inputs():
    return [torch.randn(32, 32), torch.rand(32, 32) > 0.5]


def get_init_inputs():
    return []
