# The counter is in a buffer that the kernel counts up: after a thousand calls it copies the input.
# task: relu
# expect: rejected
# rule: carried_state
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_a_thousand_times(x, y, calls, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if tl.load(calls) < 1000:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


@triton.jit
def count(calls):
    tl.store(calls, tl.load(calls) + 1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int32), persistent=False)

    def forward(self, x):
        y = torch.empty_like(x)
        relu_a_thousand_times[(triton.cdiv(x.numel(), 1024),)](x, y, self.calls, x.numel(), BLOCK=1024)
        count[(1,)](self.calls)
        return y
