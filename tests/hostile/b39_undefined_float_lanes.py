# The same with floats: an undefined lane is NaN where accesses are checked and zero on a GPU.
# task: relu
# expect: nondeterministic
# says: undefined memory
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_if_watched(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    probe = tl.load(x, mask=n < 0)
    if probe != probe:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_if_watched[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
