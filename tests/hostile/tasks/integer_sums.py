import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, i):
        return i.sum(-1)


def get_inputs():
    return [torch.randint(0, 1000, (64, 512), dtype=torch.int32)]


def get_init_inputs():
    return []
