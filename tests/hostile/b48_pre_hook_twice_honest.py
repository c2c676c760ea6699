# One hook for all variants clears the same memory before each of two launches.
# task: relu
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


def clear(arguments):
    arguments["y"].zero_()


@triton.autotune(configs=[triton.Config({"BLOCK": block}, pre_hook=clear) for block in (256, 512)], key=["n"])
@triton.jit
def add_relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + i, 0.5 * tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y, n = torch.empty_like(x), x.numel()
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        add_relu[grid](x, y, n)
        half = y.clone()
        add_relu[grid](x, y, n)
        return half + y
