import torch
import torch.nn as nn


class Model(nn.Module):
    """A step of attention that writes its key into the cache that it is given."""

    def forward(self, query, key, cache):
        cache[:, 5] = key
        return (query.unsqueeze(1) * cache).sum(dim=2)


def get_inputs():
    return [torch.randn(4, 32), torch.randn(4, 32), torch.randn(4, 16, 32)]


def get_init_inputs():
    return []
