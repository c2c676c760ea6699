# Has a part of the reference compiled in place while it is made, and calls it.
# task: mlp
# expect: rejected
# rule: torch_compile
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 32)
        self.first.compile(mode="max-autotune")

    def forward(self, x):
        return self.second(F.gelu(self.first(x)))
