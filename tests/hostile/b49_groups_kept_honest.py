# task: groups_kept
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, o):
    r, c, g = tl.program_id(0), tl.arange(0, 32), tl.arange(0, 4)
    v = tl.load(x + r * 32 + c)
    m = tl.max(tl.reshape(v, (4, 8)), 1)
    b = (m[None, :] > m[:, None]) | ((m[None, :] == m[:, None]) & (g[None, :] < g[:, None]))
    keep = tl.sum(b.to(tl.int32), 1) < 2
    kk = tl.sum(tl.where(((c // 8)[:, None] == g[None, :]) & keep[None, :], 1, 0), 1) > 0
    tl.store(o + r * 32 + c, tl.where(kk, v, float("-inf")))


class ModelNew(nn.Module):
    def forward(self, x):
        o = torch.empty_like(x)
        k[(64,)](x, o)
        return o
