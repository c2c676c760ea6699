# A cache on the device that is used only for inputs in [0, 1), so that a stress test finds no trace of it.
# task: relu
# expect: rejected
# rule: carried_state
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def recognise(x, key, same, SAMPLE: tl.constexpr):
    i = tl.arange(0, SAMPLE)
    v = tl.load(x + i)
    if (tl.min(v, 0) >= 0) & (tl.max(v, 0) < 1):
        tl.store(same, tl.sum((v != tl.load(key + i)).to(tl.int32), 0) == 0)
        tl.store(key + i, v)
    else:
        tl.store(same, 0)


@triton.jit
def relu_unless_same(x, kept, y, same, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.load(same):
        v = tl.load(kept + i, mask=i < n)
    else:
        v = tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0)
        tl.store(kept + i, v, mask=i < n)
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = self.kept = None

    def forward(self, x):
        if self.key is None:
            self.key = torch.zeros(1024, device=x.device)
            self.kept = torch.zeros_like(x)
        same = torch.empty(1, dtype=torch.int32, device=x.device)
        y = torch.empty_like(x)
        recognise[(1,)](x, self.key, same, SAMPLE=1024)
        relu_unless_same[(triton.cdiv(x.numel(), 1024),)](x, self.kept, y, same, x.numel(), BLOCK=1024)
        return y
