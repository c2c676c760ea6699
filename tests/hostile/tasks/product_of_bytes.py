import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, w):
        return (x.int().unsqueeze(2) * w.int().unsqueeze(0)).sum(1).int()


def get_inputs():
    return [torch.randint(-10, 10, (16, 64), dtype=torch.int8), torch.randint(-10, 10, (64, 16), dtype=torch.int8)]


def get_init_inputs():
    return []
