# The second of two autotuned variants takes no maximum out of its softmax.
# task: softmax
# expect: wrong_values
# says: variant 1
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"SAFE": True}), triton.Config({"SAFE": False})], key=["n"])
@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr, SAFE: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0)) if SAFE else tl.exp(v)
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax[(16,)](x, y, 1000, BLOCK=1024)
        return y
