# Patches the recorder in its own process to forge the Plan: the launch is dropped, and the output is said to be the
# input. A Plan is all that a forger can forge, and it is judged like any other.
# task: relu
# expect: rejected
# rule: no_triton
import torch
import torch.nn as nn
import triton
import triton.language as tl

import plan

honest = plan.PlanWriter.plan


def forged(self, role, phases):
    made = honest(self, role, phases)
    return {**made, "run": [], "outputs": made["inputs"]}


plan.PlanWriter.plan = forged


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
