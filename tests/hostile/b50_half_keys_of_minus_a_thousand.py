# The block of keys is filled up with scores of -1000, in float16: right as long as some score of a row is larger.
# task: short_attention_float16
# expect: wrong_values
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(q, k, v, y, n, FILL: tl.constexpr):
    row, d = tl.arange(0, 32), tl.arange(0, 16)
    at = tl.program_id(0) * n * 16 + row[:, None] * 16 + d[None, :]
    inside = row[:, None] < n
    a, b = tl.load(q + at, mask=inside, other=0.0), tl.load(k + at, mask=inside, other=0.0)
    s = tl.dot(a, tl.trans(b), input_precision="ieee") * 0.25
    s = tl.where(row[None, :] < n, s, FILL)
    e = tl.exp(s - tl.max(s, 1)[:, None])
    p = e / tl.sum(e, 1)[:, None]
    tl.store(y + at, tl.dot(p.to(tl.float16), tl.load(v + at, mask=inside, other=0.0), input_precision="ieee"), mask=inside)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        y = torch.empty_like(q)
        attend[(2,)](q, k, v, y, 20, FILL=-1e3)
        return y
