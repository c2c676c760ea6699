# Each token takes its place by an atomic counter of its expert, right only where lanes come in the order of their numbers; on a
# GPU they come in any.
# task: stable_buckets
# expect: nondeterministic
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def offsets(expert, start, B: tl.constexpr):
    count = tl.histogram(tl.load(expert + tl.arange(0, B)).to(tl.int32), 8)
    tl.store(start + tl.arange(0, 8), tl.cumsum(count, 0) - count)


@triton.jit
def place(expert, start, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + tl.atomic_add(start + tl.load(expert + i), 1), i.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, expert):
        start = torch.empty(8, dtype=torch.int32, device=expert.device)
        y = torch.empty(256, dtype=torch.int64, device=expert.device)
        offsets[(1,)](expert, start, B=256)
        place[(1,)](expert, start, y, B=256)
        return y
