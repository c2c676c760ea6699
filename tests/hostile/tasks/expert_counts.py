"""How many tokens a router sends to each expert: where logits lie far apart float32 has several weights of 0, and fp64 has none."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(8))

    def forward(self, x):
        experts = torch.softmax(x + self.bias, 1).topk(2, dim=1).indices
        return torch.nn.functional.one_hot(experts, 8).sum((0, 1))


def get_inputs():
    return [torch.randn(64, 8)]


def get_init_inputs():
    return []
