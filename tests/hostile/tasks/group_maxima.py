"""The largest of each group: of one without members -Inf, which generated inputs do not bring about."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, g):
        o = torch.full((16, 8), float("-inf"), device=x.device)
        return o.scatter_reduce(0, g[:, None].expand(-1, 8), x, "amax")


def get_inputs():
    return [torch.randn(256, 8), torch.randint(0, 16, (256,))]


def get_init_inputs():
    return []
