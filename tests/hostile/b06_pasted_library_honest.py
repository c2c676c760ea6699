# Look-alike: the source of a library's kernel, pasted. There is no ban to dodge: it is a kernel like any other.
# task: attention
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def flash(q, k, v, out, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * N * D
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + head + m[:, None] * D + d[None, :])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, N, BN):
        n = start + tl.arange(0, BN)
        scores = tl.dot(query, tl.load(k + head + n[None, :] * D + d[:, None]), input_precision="ieee") * scale
        new = tl.maximum(largest, tl.max(scores, 1))
        keep = tl.exp(largest - new)
        p = tl.exp(scores - new[:, None])
        total = total * keep + tl.sum(p, 1)
        acc = tl.dot(p, tl.load(v + head + n[:, None] * D + d[None, :]), acc * keep[:, None], input_precision="ieee")
        largest = new
    tl.store(out + head + m[:, None] * D + d[None, :], acc / total[:, None])


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        out = torch.empty_like(q)
        flash[(2, 2)](q, k, v, out, 32**-0.5, 64, D=32, BM=32, BN=32)
        return out
