# A softmax whose exponentials are rounded to fp16.
# task: softmax
# expect: wrong_values
# rule: half
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0)).to(tl.float16).to(tl.float32)
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax[(16,)](x, y, 1000, BLOCK=1024)
        return y
