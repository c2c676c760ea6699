# A kernel that calls a function of a bitcode file of the candidate's own.
# task: relu
# expect: compile_error
# says: evil_relu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def foreign(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, relu_of_a_library(v), mask=i < n)


@tl.core.extern
def relu_of_a_library(value, _semantic=None):
    types = {(tl.float32,): ("evil_relu", tl.float32)}
    return tl.core.extern_elementwise("evil", "/tmp/evil.bc", [value], types, is_pure=True, _semantic=_semantic)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        foreign[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
