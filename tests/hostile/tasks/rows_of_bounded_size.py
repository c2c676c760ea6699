import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(50, 32) * 0.02)

    def forward(self, i):
        row = F.embedding(i, self.table)
        return row * (2 / row.norm(dim=-1, keepdim=True)).clamp(max=1)


def get_inputs():
    return [torch.randint(0, 50, (128,))]


def get_init_inputs():
    return []
