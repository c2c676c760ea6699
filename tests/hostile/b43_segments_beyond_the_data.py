# Segments that PyTorch sums without looking whether they are there: what lies behind the input in the verifier's memory.
# task: short_row_mean
# expect: runtime_error
# says: segments leave the data
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def divide(sums, y, n, count, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(sums + i, mask=i < n, other=0.0) / count, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        offsets = 128 * torch.arange(17, device=x.device) + 64
        sums = torch.segment_reduce(x.reshape(-1), "sum", offsets=offsets, unsafe=True)
        y = torch.empty_like(sums)
        divide[(1,)](sums, y, 16, 128.0, BLOCK=16)
        return y
