"""Sampling keeps the 8 largest logits, so that most of the answer is -Inf, elsewhere for other inputs."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, logits):
        s = logits / 0.8
        kth = s.topk(8, -1).values[:, -1:]
        return s.masked_fill(s < kth, float("-inf"))


def get_inputs():
    return [torch.randn(8, 100)]


def get_init_inputs():
    return []
