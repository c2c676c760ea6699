# Look-alike: the cache is written before it is read, and what is read of the new row, which may not be there yet, is left out.
# task: cached_keys
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scores(query, key, cache, y, N: tl.constexpr, D: tl.constexpr):
    b, n, d = tl.program_id(0), tl.arange(0, N), tl.arange(0, D)
    tl.store(cache + (b * N + 5) * D + d, tl.load(key + b * D + d))
    k = tl.load(cache + (b * N + n[:, None]) * D + d[None, :])
    k = tl.where(n[:, None] == 5, tl.load(key + b * D + d)[None, :], k)
    tl.store(y + b * N + n, tl.sum(k * tl.load(query + b * D + d)[None, :], 1))


class ModelNew(nn.Module):
    def forward(self, query, key, cache):
        y = torch.empty(4, 16, device=query.device)
        scores[(4,)](query, key, cache, y, N=16, D=32)
        return y
