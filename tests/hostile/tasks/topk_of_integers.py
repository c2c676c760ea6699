import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.topk(x, 4)


def get_inputs():
    return [torch.randint(0, 20, (16, 256))]


def get_init_inputs():
    return []
