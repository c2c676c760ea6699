# Keys of a dict that only look like the reference's: result[0] is not there.
# task: numbered_results
# expect: wrong_shape
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return {"0": y, "1": x + 1}
