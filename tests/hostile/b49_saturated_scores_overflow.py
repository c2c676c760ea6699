# task: saturated_scores
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pick(x, bias, table, scores, rows):
    r = tl.program_id(0)
    n = tl.arange(0, 16)
    d = tl.arange(0, 4)
    z = tl.load(x + r * 16 + n) + tl.load(bias + n)
    score = tl.exp(z) / (1 + tl.exp(z))
    for k in tl.static_range(2):
        best = tl.argmax(score, 0)
        tl.store(scores + r * 2 + k, tl.max(score, 0))
        tl.store(rows + (r * 2 + k) * 4 + d, tl.load(table + best * 4 + d))
        score = tl.where(n == best, -1.0, score)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(16))
        self.table = nn.Parameter(torch.randn(16, 4))

    def forward(self, x):
        scores, rows = x.new_empty(32, 2), x.new_empty(32, 2, 4)
        pick[(32,)](x, self.bias, self.table, scores, rows)
        return scores, rows
