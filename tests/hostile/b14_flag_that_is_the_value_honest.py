# Look-alike: the sum and what says that it is there are one word, stored and read at once. Nothing else needs an order.
# task: total
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x, words, y, B: tl.constexpr, G: tl.constexpr):
    p = tl.program_id(0)
    own = tl.sum(tl.load(x + p * B + tl.arange(0, B)), 0)
    tl.store(words + p, (own.to(tl.uint32, bitcast=True).to(tl.int64) << 32) | 1, cache_modifier=".wt")
    if p == G - 1:
        sums = 0.0
        for k in range(G):
            word = tl.load(words + k, volatile=True)
            while word == 0:
                word = tl.load(words + k, volatile=True)
            sums += (word >> 32).to(tl.int32).to(tl.float32, bitcast=True)
        tl.store(y, sums)


class ModelNew(nn.Module):
    def forward(self, x):
        words, y = torch.zeros(8, dtype=torch.int64, device=x.device), torch.empty((), device=x.device)
        total[(8,)](x, words, y, B=512, G=8)
        return y
