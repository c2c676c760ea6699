# Blocks are filled up with 0 and a million, as if no integer were beyond.
# task: extrema_of_integers
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def extrema(x, most, least, N: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0)
    tl.store(most + row, tl.max(value, 0))
    tl.store(least + row, tl.min(tl.where(at < N, value, 1000000), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        most = torch.empty(32, dtype=torch.int64, device=x.device)
        least = torch.empty_like(most)
        extrema[(32,)](x, most, least, N=50, BLOCK=64)
        return most, least
