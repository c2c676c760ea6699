import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        v = torch.topk(x, 8, 1)[0][:, -1:]
        return torch.softmax(x.masked_fill(x < v, float('-inf')), 1)


def get_inputs():
    return [torch.randn(16, 256)]


def get_init_inputs():
    return []
