# Counts the label behind the one that is kept in a buffer, too.
# task: counted
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count(x, k, y, D: tl.constexpr):
    r, d = tl.program_id(0), tl.arange(0, D)
    v = tl.load(x + r * D + d)
    tl.store(y + r, tl.sum(((v == tl.load(k)) | (v == tl.load(k) + 1)).to(tl.float32), 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("label", torch.tensor(3.0))

    def forward(self, x):
        y = torch.empty(32, device=x.device)
        count[(32,)](x, self.label, y, D=64)
        return y
