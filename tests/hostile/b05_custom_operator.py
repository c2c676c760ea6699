# PyTorch's product under the name of an operator of one's own.
# task: matmul
# expect: rejected
# rule: no_triton
import torch
import torch.nn as nn


@torch.library.custom_op("laundry::product", mutates_args=())
def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.mm(a, b)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return product(a, b)
