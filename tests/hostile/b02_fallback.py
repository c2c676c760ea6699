# A kernel that does not compile, in a try whose except calls PyTorch.
# task: relu
# expect: rejected
# rule: no_triton
# says: launches no Triton kernel
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def broken(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.no_such_operation(tl.load(x + i, mask=i < n)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            y = torch.empty_like(x)
            broken[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            return y
        except Exception:
            return torch.relu(x)
