# The result is a tensor of a class of its own that computes when it is read.
# task: relu
# expect: rejected
# rule: contract
# says: Lazy
import torch
import torch.nn as nn


class Lazy(torch.Tensor):
    """Computes when somebody looks."""

    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)

    def __init__(self, x):
        self.x = x

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return function(*(torch.relu(a.x) if isinstance(a, Lazy) else a for a in args), **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return Lazy(x)
