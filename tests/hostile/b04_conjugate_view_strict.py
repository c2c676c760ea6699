# A conjugate, which PyTorch calls a view, changes signs: that is computed, whatever it is called.
# task: relu
# expect: rejected
# rule: strict
# says: aten::conj_physical
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
    def forward(self, x):
        z = torch.view_as_complex(x.reshape(-1, 2)).conj().resolve_conj()
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 1024),)](torch.view_as_real(z), y, x.numel(), STEP=1, BLOCK=1024)
        return y
