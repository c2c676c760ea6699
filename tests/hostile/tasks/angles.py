import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        n = torch.nn.functional.normalize(x - x.mean(1, keepdim=True), dim=1)
        return torch.acos((0.9999999 * (n @ n.t())).clamp(-1.0, 1.0))


def get_inputs():
    return [torch.randn(96, 48)]


def get_init_inputs():
    return []
