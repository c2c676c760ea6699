# Look-alike: what fills a bag up is left out, and nothing is the mean of nothing.
# task: bags_with_padding
# expect: passed
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(ids, w, o, L: tl.constexpr, D: tl.constexpr):
    b, c = tl.program_id(0), tl.arange(0, D)
    acc = tl.zeros((D,), tl.float32)
    count = 0.0
    for j in range(L):
        i = tl.load(ids + b * L + j)
        acc += tl.load(w + i * D + c, mask=(i != 0) & (c < D), other=0.0)
        count += tl.where(i != 0, 1.0, 0.0)
    tl.store(o + b * D + c, acc / tl.maximum(count, 1.0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(1000, 32, mode='mean', padding_idx=0)

    def forward(self, ids):
        o = torch.empty(16, 32, device=ids.device)
        k[(16,)](ids, self.e.weight, o, L=8, D=32)
        return o
