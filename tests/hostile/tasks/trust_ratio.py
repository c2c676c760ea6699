"""A step by the ratio of two norms, 1 where either is zero: generated weights have one."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, w, g):
        of_w, of_g = w.norm(), g.norm()
        ratio = torch.where((of_w > 0) & (of_g > 0), of_w / of_g, torch.ones_like(of_w))
        return w - 0.01 * ratio * g


def get_inputs():
    return [torch.randn(16, 64), torch.randn(16, 64)]


def get_init_inputs():
    return []
