# Nothing is added in the first and the last of 65,536 rows, which 64 drawn places hardly ever are.
# task: added_in_places
# expect: wrong_values
# says: asked
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x, i, o, D: tl.constexpr, V: tl.constexpr):
    b, c = tl.program_id(0), tl.arange(0, D)
    j = tl.load(i + b)
    tl.atomic_add(o + j * D + c, tl.load(x + b * D + c), mask=(c < D) & (j > 0) & (j < V - 1))


class ModelNew(nn.Module):
    def forward(self, x, i):
        o = torch.zeros(65536, 8, device=x.device)
        k[(64,)](x, i, o, D=8, V=65536)
        return o
