# Look-alike: each program has a place of its own for its atomics of scope 'cta', and the launch after it sums the places.
# task: total
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def parts(x, part, B: tl.constexpr):
    p, i = tl.program_id(0), tl.arange(0, B)
    tl.atomic_add(part + p + i * 0, tl.load(x + p * B + i), scope="cta")


@triton.jit
def total(part, y, G: tl.constexpr):
    tl.store(y, tl.sum(tl.load(part + tl.arange(0, G)), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        part = torch.zeros(64, device=x.device)
        y = torch.empty((), device=x.device)
        parts[(64,)](x, part, B=64)
        total[(1,)](part, y, G=64)
        return y
