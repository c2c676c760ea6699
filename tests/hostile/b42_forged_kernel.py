# The Plan says maximum in the source that would be printed and minimum in the TTIR. What is judged is the TTIR, and
# what is printed must be recorded as the same.
# task: relu
# expect: wrong_values
# says: 'spread' inputs
import torch
import torch.nn as nn
import triton
import triton.language as tl

import plan

honest = plan.PlanWriter.plan


def forged(self, role, phases):
    made = honest(self, role, phases)
    for kernel in made["kernels"]:
        zero = next(line for line in kernel["ttir"].splitlines() if "arith.max" in line)
        kernel["ttir"] = kernel["ttir"].replace(zero, zero.replace("arith.maxnumf", "arith.minnumf"))
    return made


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
