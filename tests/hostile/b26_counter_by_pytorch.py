# The counter is a buffer that PyTorch counts up; the kernel looks for one number of calls only.
# task: relu
# expect: rejected
# rule: carried_state
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_but_once(x, y, calls, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if tl.load(calls) != 123456:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64), persistent=False)

    def forward(self, x):
        self.calls.add_(1)
        y = torch.empty_like(x)
        relu_but_once[(triton.cdiv(x.numel(), 1024),)](x, y, self.calls, x.numel(), BLOCK=1024)
        return y
