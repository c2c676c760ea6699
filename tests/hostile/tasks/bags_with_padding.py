import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(1000, 32, mode='mean', padding_idx=0)

    def forward(self, ids):
        return self.e(ids)


def get_inputs():
    return [torch.randint(1, 1000, (16, 8))]


def get_init_inputs():
    return []
