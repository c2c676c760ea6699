# Places that the generator makes never lie so far apart that the bound counts.
# task: distances_as_bias
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def look_up(here, there, bias, out, N: tl.constexpr, BLOCK: tl.constexpr, H: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    distance = tl.load(here + i) - tl.load(there + j, mask=j < N, other=0)
    distance += 0
    for h in range(H):
        value = tl.load(bias + (distance + 16) * H + h, mask=(j < N) & (distance >= -16) & (distance <= 16), other=0.0)
        tl.store(out + (h * N + i) * N + j, value, mask=j < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(33, 8)

    def forward(self, here, there):
        out = torch.empty(8, 12, 12, device=here.device)
        look_up[(12,)](here, there, self.bias.weight, out, N=12, BLOCK=16, H=8)
        return out
