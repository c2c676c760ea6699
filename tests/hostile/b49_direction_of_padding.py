# No bound on norms, of which that of padding is zero, as long as nobody trains it.
# task: padded_directions
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def directions(ids, table, y, D: tl.constexpr):
    place, at = tl.program_id(0), tl.arange(0, D)
    value = tl.load(table + tl.load(ids + place) * D + at)
    norm = tl.sqrt(tl.sum(value * value, 0))
    tl.store(y + place * D + at, value / norm)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 64, padding_idx=0)

    def forward(self, ids):
        y = torch.empty(16, 32, 64, device=ids.device)
        directions[(512,)](ids, self.table.weight, y, D=64)
        return y
