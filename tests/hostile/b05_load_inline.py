# The body is at::matmul, in C++ that is compiled on the spot.
# task: matmul
# expect: rejected
# rule: inline_cuda
import torch
import torch.nn as nn

from torch.utils.cpp_extension import load_inline

SOURCE = "torch::Tensor product(torch::Tensor a, torch::Tensor b) { return at::matmul(a, b); }"


class ModelNew(nn.Module):
    def forward(self, a, b):
        module = load_inline("laundry", cpp_sources=SOURCE, functions=["product"])
        return module.product(a, b)
