# The place of the largest of 256 numbers, by keys of 8 bits: often of one that is smaller, though nothing was computed.
# task: argmax_bfloat16
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def places(x, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i).to(tl.float32)
    key = tl.floor(v / (tl.max(tl.abs(v), 0) / 127 + 1e-30) + 0.5)
    tl.store(y + row, tl.argmax(key, 0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(512, device=x.device, dtype=torch.int64)
        places[(512,)](x, y, N=256)
        return y
