# Every function that could compare is patched to agree.
# task: relu
# expect: wrong_values
# says: 'spread' inputs
import torch
import torch.nn as nn
import triton
import triton.language as tl

torch.allclose = torch.equal = torch.isclose = torch.testing.assert_close = lambda *args, **kwargs: True
torch.Tensor.allclose = torch.Tensor.equal = torch.Tensor.__eq__ = lambda *args, **kwargs: True


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
