# The same angles without TF32.
# task: angles
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def directions(x_ptr, n_ptr, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < SIZE
    x = tl.load(x_ptr + row * SIZE + at, mask=inside, other=0.0)
    d = tl.where(inside, x - tl.sum(x, 0) / SIZE, 0.0)
    length = tl.maximum(tl.sqrt(tl.sum(d * d, 0)), 1e-12)
    tl.store(n_ptr + row * BLOCK + at, d / length)


@triton.jit
def angles(n_ptr, out_ptr, ROWS: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr, PRECISION: tl.constexpr):
    m = tl.program_id(0) * TILE + tl.arange(0, TILE)
    n = tl.program_id(1) * TILE + tl.arange(0, TILE)
    k = tl.arange(0, BLOCK)
    a = tl.load(n_ptr + m[:, None] * BLOCK + k[None, :])
    b = tl.load(n_ptr + n[None, :] * BLOCK + k[:, None])
    itself = tl.sum(a * a, axis=1)[:, None]
    cosine = 0.9999999 * tl.where(m[:, None] == n[None, :], itself, tl.dot(a, b, input_precision=PRECISION))
    tl.store(out_ptr + m[:, None] * ROWS + n[None, :], libdevice.acos(tl.clamp(cosine, -1.0, 1.0)))


class ModelNew(nn.Module):
    def forward(self, x):
        n = torch.empty(96, 64, device=x.device)
        directions[(96,)](x, n, SIZE=48, BLOCK=64)
        out = torch.empty(96, 96, device=x.device)
        angles[(3, 3)](n, out, ROWS=96, BLOCK=64, TILE=32, PRECISION="ieee")
        return out
