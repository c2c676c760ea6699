# Events, clocks and do_bench are patched to report nothing. They are the child's own; the clock that counts is in
# another process.
# task: relu
# expect: passed
# plan: b17_plain_honest
import time

import triton.testing

import torch
import torch.nn as nn
import triton
import triton.language as tl

torch.cuda.Event.elapsed_time = lambda self, other: 1e-6
torch.cuda.Event.record = torch.cuda.synchronize = lambda *args: None
time.perf_counter = time.time = time.perf_counter_ns = lambda: 0
triton.testing.do_bench = lambda *args, **kwargs: 1e-6


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
