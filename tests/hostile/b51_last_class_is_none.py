# The last of 20,000 classes is none: 16 drawn ones hardly ever are it.
# task: one_hot_of_many
# expect: wrong_values
# says: asked
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(t, w, o, D: tl.constexpr, V: tl.constexpr):
    b, c = tl.program_id(0), tl.arange(0, D)
    i = tl.load(t + b)
    tl.store(o + b * D + c, tl.load(w + c * V + i, mask=(i < V - 1) & (c < D), other=0.0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(20000, 16, bias=False)

    def forward(self, t):
        o = torch.empty(16, 16, device=t.device)
        k[(16,)](t, self.l.weight, o, D=16, V=20000)
        return o
