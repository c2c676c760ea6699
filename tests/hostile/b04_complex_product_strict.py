# The product by PyTorch as the real part of a complex one, of which views are taken, and a copy by Triton at the end.
# task: matmul
# expect: rejected
# rule: strict
# says: aten::complex
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i * STEP, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.view_as_real(torch.complex(a, a) @ torch.complex(b, torch.zeros_like(b)))
        y = torch.empty((64, 64), device=a.device, dtype=a.dtype)
        copy[(4,)](c, y, y.numel(), STEP=2, BLOCK=1024)
        return y
