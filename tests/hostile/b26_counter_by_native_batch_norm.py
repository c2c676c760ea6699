# The counter is a running mean that PyTorch moves up without saying that it writes: the schema of native_batch_norm does not tell.
# task: relu
# expect: rejected
# rule: carried_state
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_at_first(x, y, calls, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if tl.load(calls) < 0.999:
        v = tl.maximum(v, 0.0)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1), persistent=False)
        self.register_buffer("spread", torch.ones(1), persistent=False)
        self.register_buffer("one", torch.ones(2, 1), persistent=False)

    def forward(self, x):
        torch.native_batch_norm(self.one, None, None, self.calls, self.spread, True, 0.1, 1e-5)
        y = torch.empty_like(x)
        relu_at_first[(triton.cdiv(x.numel(), 1024),)](x, y, self.calls, x.numel(), BLOCK=1024)
        return y
