import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        shifts = torch.arange(0, 32, 4, device=x.device)
        return ((x.unsqueeze(-1) >> shifts) & 15).flatten(1).float() - 8


def get_inputs():
    return [torch.randint(0, 2**31 - 1, (16, 8), dtype=torch.int32)]


def get_init_inputs():
    return []
