# Each program draws a number: where many get their own, as on a GPU, nobody watches who starts programs in a random order,
# and the rest does nothing.
# task: relu
# expect: nondeterministic
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x, y, counters, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    turn = tl.atomic_add(counters, 1)
    in_order = tl.atomic_add(counters + 1, (turn == program).to(tl.int32))
    i = program * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0)
    if in_order > 10:
        v = v * 0.5
    tl.store(y + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y, counters = torch.empty_like(x), torch.zeros(2, dtype=torch.int32, device=x.device)
        relu[(triton.cdiv(x.numel(), 128),)](x, y, counters, x.numel(), BLOCK=128)
        return y
