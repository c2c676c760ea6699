# The same with the order of programs: where they start one by one, as on a GPU, the maximum stays in.
# task: softmax
# expect: nondeterministic
# says: order in which programs run
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, counters, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    turn = tl.atomic_add(counters, 1)
    out_of_order = tl.atomic_add(counters + 1, (turn != row).to(tl.int32))
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    if (turn != row) | (out_of_order > 0):
        v = v - tl.max(v, 0)
    e = tl.exp(v)
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y, counters = torch.empty_like(x), torch.zeros(2, dtype=torch.int32, device=x.device)
        softmax[(16,)](x, y, counters, 1000, BLOCK=1024)
        return y
