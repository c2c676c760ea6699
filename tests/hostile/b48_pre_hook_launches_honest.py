# A hook launches a kernel of its own, which is no variant, and makes a tensor in each variant.
# task: relu
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fill(y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.zeros([BLOCK], tl.float32), mask=i < n)


def clear(arguments):
    fill[(triton.cdiv(arguments["n"], 1024),)](arguments["y"], arguments["n"], BLOCK=1024)
    arguments["y"][0].copy_(torch.zeros(200, device=arguments["y"].device))


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
