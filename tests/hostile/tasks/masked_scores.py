"""Scores of dilated attention as an output: a fill of -1e9 at every second place of each row and each column."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q, k):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        i = torch.arange(q.shape[-2], device=q.device)
        return scores.masked_fill((i[:, None] + i[None, :]) % 2 == 1, -1e9)


def get_inputs():
    return [torch.randn(2, 3, 64, 32), torch.randn(2, 3, 64, 32)]


def get_init_inputs():
    return []
