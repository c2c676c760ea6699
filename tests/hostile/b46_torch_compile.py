# Leaves the work to torch.compile.
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

    def forward(self, x):
        return torch.compile(lambda v: self.second(F.gelu(self.first(v))))(x)
