import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, labels):
        return F.cross_entropy(x, labels, ignore_index=1)


def get_inputs():
    return [torch.randn(64, 1000), torch.randint(2, 1000, (64,))]


def get_init_inputs():
    return []
