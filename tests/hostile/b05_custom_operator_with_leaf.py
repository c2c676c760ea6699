# An operator of one's own that hides PyTorch's product behind a kernel that copies, in strict mode.
# task: matmul
# expect: rejected
# rule: strict
# says: aten::mm
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@torch.library.custom_op("laundry::leaf", mutates_args=())
def leaf(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    c = torch.ops.aten.mm.default(a, b)
    y = torch.empty_like(c)
    copy[(4,)](c, y, c.numel(), BLOCK=1024)
    return y


class ModelNew(nn.Module):
    def forward(self, a, b):
        return leaf(a, b)
