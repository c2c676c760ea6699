# What the mask hides is -3 instead of -Inf: right as long as two scores above it are allowed.
# task: best_allowed
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def best(q, m, y):
    row, c = tl.program_id(0), tl.arange(0, 32)
    allowed = tl.load(m + row * 32 + c) != 0
    scores = tl.where(allowed, tl.load(q + row * 32 + c), -3.0)
    first, at = tl.max(scores, 0), tl.argmax(scores, 0)
    second = tl.max(tl.where(c == at, float("-inf"), scores), 0)
    share = tl.exp(second - first)
    tl.store(y + row * 2, 1 / (1 + share))
    tl.store(y + row * 2 + 1, share / (1 + share))


class ModelNew(nn.Module):
    def forward(self, q, m):
        y = torch.empty(32, 2, device=q.device)
        best[(32,)](q, m, y)
        return y
