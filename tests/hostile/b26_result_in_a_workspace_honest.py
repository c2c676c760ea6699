# Look-alike: PyTorch puts a product into memory that is kept from call to call, whatever stood there.
# task: mlp
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_gelu(h, bias, y, n, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(h + i, mask=i < n, other=0.0) + tl.load(bias + i % N, mask=i < n, other=0.0)
    tl.store(y + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 32)
        self.product = None

    def forward(self, x):
        if self.product is None:
            self.product = torch.empty(16, 64, device=x.device)
        torch.mm(x, self.first.weight.t(), out=self.product)
        h = torch.empty_like(self.product)
        bias_gelu[(4,)](self.product, self.first.bias, h, h.numel(), 64, BLOCK=256)
        return self.second(h)
