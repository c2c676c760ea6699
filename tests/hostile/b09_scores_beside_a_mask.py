# Scores of the half precision that a mask of -1e9 hides: below a rounding of the mask anything goes.
# task: masked_scores
# expect: wrong_values
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scores(q, k, out, size, scale, HEAD: tl.constexpr, BLOCK: tl.constexpr):
    batch, first = tl.program_id(0), tl.program_id(1) * BLOCK
    i = first + tl.arange(0, BLOCK)
    d = tl.arange(0, HEAD)
    rows = tl.load(q + (batch * size + i)[:, None] * HEAD + d[None, :], mask=i[:, None] < size, other=0.0)
    for start in range(0, size, BLOCK):
        j = start + tl.arange(0, BLOCK)
        columns = tl.load(k + (batch * size + j)[None, :] * HEAD + d[:, None], mask=j[None, :] < size, other=0.0)
        s = tl.dot(rows.to(tl.bfloat16), columns.to(tl.bfloat16)) * scale
        s = tl.where((i[:, None] + j[None, :]) % 2 == 1, -1e9, s)
        inside = (i[:, None] < size) & (j[None, :] < size)
        tl.store(out + (batch * size + i)[:, None] * size + j[None, :], s, mask=inside)


class ModelNew(nn.Module):
    def forward(self, q, k):
        size, head = q.shape[-2:]
        out = torch.empty(*q.shape[:-1], size, device=q.device)
        batches = q.numel() // (size * head)
        scores[(batches, triton.cdiv(size, 32))](q, k, out, size, head**-0.5, HEAD=head, BLOCK=32)
        return out
