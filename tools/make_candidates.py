"""Writes a batch of distinct small candidates with known verdicts, for `bench/verify_batch.sh` and the tests.

    python tools/make_candidates.py --count 500 --seed 1 > batch.jsonl

Each line has id, reference, candidate (inline sources) and `expect`: the verdicts that are right for it. Pointwise chains,
row reductions and matrix products in turn; every second one carries a planted fault.
"""

import argparse
import json
import random
import sys

POINTWISE = [  # (PyTorch, Triton, a wrong Triton)
    ("torch.relu(x)", "tl.maximum(x, 0.0)", "x"),
    ("torch.sigmoid(x)", "1.0 / (1.0 + tl.exp(-x))", "1.0 / (1.0 + tl.exp(x))"),
    ("x * torch.sigmoid(x)", "x / (1.0 + tl.exp(-x))", "x / (2.0 + tl.exp(-x))"),
    ("x * x + x", "x * x + x", "x * x - x"),
    ("torch.exp(-x * x)", "tl.exp(-x * x)", "tl.exp(-x)"),
    ("torch.abs(x) + 0.5", "tl.abs(x) + 0.5", "x + 0.5"),
    ("torch.clamp(x, -0.3, 0.7)", "tl.minimum(tl.maximum(x, -0.3), 0.7)", "tl.minimum(x, 0.7)"),
    ("torch.where(x > 0.2, x, x * 0.1)", "tl.where(x > 0.2, x, x * 0.1)", "tl.where(x > 0.1, x, x * 0.1)"),
]
REDUCTION = [  # (PyTorch over dim 1, Triton of a masked row r with its mask m, neutral element, a wrong Triton)
    ("x.sum(dim=1)", "tl.sum(r, 0)", "0.0", "tl.sum(r, 0) * 1.01"),
    ("x.mean(dim=1)", "tl.sum(r, 0) / N", "0.0", "tl.sum(r, 0) / BLOCK"),
    ("x.amax(dim=1)", "tl.max(r, 0)", '-float("inf")', "tl.max(tl.abs(r), 0)"),
    ("x.amin(dim=1)", "tl.min(r, 0)", 'float("inf")', "tl.min(r, 0) + 0.001"),
    ("torch.logsumexp(x, dim=1)", "tl.log(tl.sum(tl.exp(r - tl.max(r, 0)), 0)) + tl.max(r, 0)", '-float("inf")',
     "tl.log(tl.sum(tl.exp(r - tl.max(r, 0)), 0))"),
    ("(x * x).sum(dim=1)", "tl.sum(r * r, 0)", "0.0", "tl.sum(tl.abs(r), 0)"),
]

REFERENCE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, {args}):
        return {body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""

HEAD = """import torch
import torch.nn as nn
import triton
import triton.language as tl

"""

POINTWISE_CANDIDATE = HEAD + """
@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < {bound}
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, {body} * {scale}, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, {block}),)](x, out, n, BLOCK={block})
        return out
"""

REDUCTION_CANDIDATE = HEAD + """
@triton.jit
def kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    m = columns < {bound}
    r = tl.load(x_ptr + row * N + columns, mask=m, other={neutral})
    tl.store(out_ptr + row, ({body}) * {scale})


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        kernel[({rows},)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
"""

MATMUL_CANDIDATE = HEAD + """
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, {k_bound}, BK):
        inner = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="{precision}")
    acc = acc * {scale}
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
        grid = (triton.cdiv(a.shape[0], {bm}), triton.cdiv(b.shape[1], {bn}))
        kernel[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], BM={bm}, BN={bn}, BK={bk})
        return c
"""


def pointwise(rng, wrong):
    torch_body, right, other = rng.choice(POINTWISE)
    scale = round(rng.uniform(0.5, 2.0), 4)
    rows, columns = rng.choice([7, 16, 33, 64]), rng.choice([31, 100, 128, 257])
    reference = REFERENCE.format(args="x", body=f"({torch_body}) * {scale}", inputs=f"torch.randn({rows}, {columns})")
    fault = rng.choice(["values", "tail", "overrun"]) if wrong else None
    body, bound, expect = f"({right})", "n", ["passed"]
    if fault == "values":
        body, expect = f"({other})", ["wrong_values"]
    elif fault == "tail":  # the last element is never written
        bound, expect = "n - 1", ["memory_error"]
    elif fault == "overrun":  # one element past the end
        bound, expect = "n + 1", ["memory_error"]
    block = rng.choice([64, 128, 256, 512])
    if fault == "overrun" and (rows * columns) % block == 0:
        block *= 4
        if (rows * columns) % block == 0:
            bound, body, expect = "n", f"({other})", ["wrong_values"]
    return reference, POINTWISE_CANDIDATE.format(body=body, scale=scale, bound=bound, block=block), expect


def reduction(rng, wrong):
    torch_body, right, neutral, other = rng.choice(REDUCTION)
    scale = round(rng.uniform(0.5, 2.0), 4)
    rows, columns = rng.choice([5, 16, 40]), rng.choice([33, 100, 250])  # never a power of two: BLOCK != N
    reference = REFERENCE.format(args="x", body=f"({torch_body}) * {scale}", inputs=f"torch.randn({rows}, {columns})")
    fault = rng.choice(["values", "rows", "columns"]) if wrong else None
    body, bound, launched, expect = right, "N", "x.shape[0]", ["passed"]
    if fault == "values":
        body, expect = other, ["wrong_values"]
    elif fault == "rows":
        launched, expect = "x.shape[0] - 1", ["memory_error"]
    elif fault == "columns":
        bound, expect = "N + 1", ["memory_error", "wrong_values"]
    text = REDUCTION_CANDIDATE.format(body=body, scale=scale, bound=bound, neutral=neutral, rows=launched)
    return reference, text, expect


def matmul(rng, wrong):
    m, n, k = (rng.choice([17, 32, 48, 64]) for _ in range(3))
    scale = round(rng.uniform(0.5, 2.0), 4)
    reference = REFERENCE.format(args="a, b", body=f"(a @ b) * {scale}", inputs=f"torch.randn({m}, {k}), torch.randn({k}, {n})")
    fault = rng.choice(["values", "k", "tf32"]) if wrong else None
    bk = 16
    choice = dict(scale=scale, k_bound="K", precision="ieee", bm=rng.choice([16, 32]), bn=rng.choice([16, 32]), bk=bk)
    expect = ["passed"]
    if fault == "values":
        choice["scale"], expect = scale * 1.001, ["wrong_values"]
    elif fault == "k":  # the last block of K is left out
        choice["k_bound"], expect = "K - 16", ["wrong_values"]
    elif fault == "tf32":
        choice["precision"], expect = "tf32", ["wrong_values"]
    return reference, MATMUL_CANDIDATE.format(**choice), expect


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    makers, seen, number = [pointwise, reduction, matmul], set(), 0
    while number < arguments.count:
        reference, candidate, expect = makers[number % 3](rng, wrong=number // 3 % 2 == 1)
        if candidate in seen:
            continue
        seen.add(candidate)
        line = dict(id=f"{number:04}", reference=reference, candidate=candidate, expect=expect)
        sys.stdout.write(json.dumps(line) + "\n")
        number += 1


if __name__ == "__main__":
    main()
