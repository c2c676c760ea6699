# Bags that count the index that fills them up: none that is generated is it.
# task: bags_with_padding
# expect: wrong_values
# says: asked
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(ids, w, o, L: tl.constexpr, D: tl.constexpr):
    b, c = tl.program_id(0), tl.arange(0, D)
    acc = tl.zeros((D,), tl.float32)
    for j in range(L):
        acc += tl.load(w + tl.load(ids + b * L + j) * D + c)
    tl.store(o + b * D + c, acc / L)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(1000, 32, mode='mean', padding_idx=0)

    def forward(self, ids):
        o = torch.empty(16, 32, device=ids.device)
        k[(16,)](ids, self.e.weight, o, L=8, D=32)
        return o
