import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.types = nn.Embedding(2, 32)

    def forward(self, words, types):
        return self.words(words) + self.types(types)


def get_inputs():
    return [torch.randint(0, 50, (64,)), torch.zeros(64, dtype=torch.long)]


def get_init_inputs():
    return []
