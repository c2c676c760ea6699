# The reference's answer is contiguous, this one's is transposed: no fault, but said.
# task: relu
# expect: passed
# notes: output 0 has the strides [1, 64]
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < rows * columns
    v = tl.maximum(tl.load(x + i, mask=inside, other=0.0), 0.0)
    tl.store(y + i % columns * rows + i // columns, v, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(200, 64, device=x.device)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, 64, 200, BLOCK=1024)
        return y.t()
