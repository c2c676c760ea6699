"""Writes a batch of distinct candidates with known verdicts, for `bench/verify_batch.sh` and the tests.

    python tools/make_candidates.py --count 500 --seed 1 > batch.jsonl
    python tools/make_candidates.py --elements 1000000 16000000 > batch_for_a_gpu.jsonl

Each line has id, reference, candidate (inline sources) and `expect`: the verdicts that are right for it. Pointwise chains,
row reductions and matrix products in turn; every second one carries a planted fault. Small ones by default; with
--elements the largest tensor has about so many elements, blocks are those that suit a GPU, and products have an epilogue.
"""

import argparse
import json
import math
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

EPILOGUE = [  # (PyTorch of y, Triton, a wrong Triton)
    ("torch.relu({})", "tl.maximum(acc, 0.0)", "acc"),
    ("torch.nn.functional.silu({})", "acc / (1.0 + tl.exp(-acc))", "acc / (1.0 + tl.exp(acc))"),
    ("torch.nn.functional.gelu({})", "0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))",
     "acc / (1.0 + tl.exp(-1.702 * acc))"),
    ("torch.nn.functional.leaky_relu({}, 0.1)", "tl.where(acc > 0, acc, acc * 0.1)", "tl.where(acc > 0, acc, acc * 0.11)"),
    ("torch.clamp({}, -3.0, 3.0)", "tl.minimum(tl.maximum(acc, -3.0), 3.0)", "tl.minimum(acc, 3.0)"),
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
        kernel[(triton.cdiv(n, {block}),)](x, out, n, BLOCK={block}{launch})
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
        kernel[({rows},)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]){launch})
        return out
"""

EPILOGUE_LINES = """    acc += tl.load(bias_ptr + columns, mask=columns < N, other=0.0)[None, :]
    acc = {activation}
"""

MATMUL_CANDIDATE = HEAD + """
@triton.jit
def kernel(a_ptr, b_ptr, {bias_pointer}c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, {k_bound}, BK):
        inner = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="{precision}")
    acc = acc * {scale}
{epilogue}    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b{bias}):
        c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
        grid = (triton.cdiv(a.shape[0], {bm}), triton.cdiv(b.shape[1], {bn}))
        kernel[grid](a, b{bias}, c, a.shape[0], b.shape[1], a.shape[1], BM={bm}, BN={bn}, BK={bk}{launch})
        return c
"""


# A write that is missing: named by the tile machine, poison in the output on a GPU.
UNWRITTEN = ["memory_error"]
UNWRITTEN_ON_GPU = ["memory_error", "wrong_values", "nondeterministic"]


def log_uniform(rng, low, high):
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def launch_options(rng, elements, choices):
    return f", num_warps={rng.choice(choices)}" if elements else ""


def no_power_of_two(n):
    return n + 1 if n & (n - 1) == 0 else n


class Pointwise:
    """A chain of pointwise operations over a matrix, one block a program."""

    def __init__(self, rng, elements):
        self.torch_body, self.right, self.wrong = rng.choice(POINTWISE)
        self.scale = round(rng.uniform(0.5, 2.0), 4)
        self.elements = elements
        if elements:
            self.columns = log_uniform(rng, 64, 8192)
            self.rows = max(1, elements // self.columns)
        else:
            self.rows, self.columns = rng.choice([7, 16, 33, 64]), rng.choice([31, 100, 128, 257])
        self.reference = REFERENCE.format(args="x", body=f"({self.torch_body}) * {self.scale}",
                                          inputs=f"torch.randn({self.rows}, {self.columns})")

    def candidate(self, rng, wrong):
        n = self.rows * self.columns
        fault = rng.choice(["values", "tail", "overrun"]) if wrong else None
        body, bound, expect = f"({self.right})", "n", ["passed"]
        if fault == "values":
            body, expect = f"({self.wrong})", ["wrong_values"]
        elif fault == "tail":  # the last element is never written
            bound, expect = "n - 1", UNWRITTEN_ON_GPU if self.elements else UNWRITTEN
        elif fault == "overrun":  # one element past the end
            bound, expect = "n + 1", ["memory_error"]
        block = rng.choice([1024, 2048, 4096, 8192] if self.elements else [64, 128, 256, 512])
        if fault == "overrun" and n % block == 0:
            block *= 4
            if n % block == 0:
                bound, body, expect = "n", f"({self.wrong})", ["wrong_values"]
        launch = launch_options(rng, self.elements, [4, 8])
        text = POINTWISE_CANDIDATE.format(body=body, scale=self.scale, bound=bound, block=block, launch=launch)
        return text, expect


class Reduction:
    """A reduction of each row, one program a row."""

    def __init__(self, rng, elements):
        self.torch_body, self.right, self.neutral, self.wrong = rng.choice(REDUCTION)
        self.scale = round(rng.uniform(0.5, 2.0), 4)
        self.elements = elements
        if elements:
            self.columns = no_power_of_two(log_uniform(rng, 300, min(16384, elements // 8) - 1))
            self.rows = elements // self.columns
        else:
            self.rows, self.columns = rng.choice([5, 16, 40]), rng.choice([33, 100, 250])  # never a power of two: BLOCK != N
        self.reference = REFERENCE.format(args="x", body=f"({self.torch_body}) * {self.scale}",
                                          inputs=f"torch.randn({self.rows}, {self.columns})")

    def faults(self):
        # One element of the next row more is not seen in a long row's extremum, nor well in its log-sum-exp.
        blurred = self.elements and any(name in self.torch_body for name in ("amax", "amin", "logsumexp"))
        return ["values", "rows"] if blurred else ["values", "rows", "columns"]

    def candidate(self, rng, wrong):
        fault = rng.choice(self.faults()) if wrong else None
        body, bound, launched, expect = self.right, "N", "x.shape[0]", ["passed"]
        if fault == "values":
            body, expect = self.wrong, ["wrong_values"]
        elif fault == "rows":
            launched, expect = "x.shape[0] - 1", UNWRITTEN_ON_GPU if self.elements else UNWRITTEN
        elif fault == "columns":
            bound, expect = "N + 1", ["memory_error", "wrong_values"]
        launch = launch_options(rng, self.elements, [2, 4, 8, 16] if self.columns <= 4096 else [4, 8, 16, 32])
        text = REDUCTION_CANDIDATE.format(body=body, scale=self.scale, bound=bound, neutral=self.neutral, rows=launched,
                                          launch=launch)
        return text, expect


class Matmul:
    """A matrix product in tiles; with --elements also a bias and an activation."""

    def __init__(self, rng, elements):
        self.elements = elements
        if elements:
            self.draw_large(rng)
            return
        m, n, k = (rng.choice([17, 32, 48, 64]) for _ in range(3))
        self.scale = round(rng.uniform(0.5, 2.0), 4)
        self.reference = REFERENCE.format(args="a, b", body=f"(a @ b) * {self.scale}",
                                          inputs=f"torch.randn({m}, {k}), torch.randn({k}, {n})")

    def draw_large(self, rng):  # the result is the largest tensor, or as large as the first operand
        n = 16 * max(4, round(math.sqrt(self.elements) * rng.uniform(0.5, 2.0) / 16))
        m = max(1, self.elements // n)
        k = 32 * max(2, round(log_uniform(rng, 64, min(512, n, max(64, m))) / 32))
        self.scale = round(rng.uniform(0.5, 2.0) / math.sqrt(k), 5)
        self.activation, self.right, self.wrong = rng.choice(EPILOGUE)
        self.reference = REFERENCE.format(args="a, b, bias", body=self.activation.format(f"(a @ b) * {self.scale} + bias"),
                                          inputs=f"torch.randn({m}, {k}), torch.randn({k}, {n}), torch.randn({n})")

    def candidate(self, rng, wrong):
        fault = rng.choice(["values", "k", "tf32"]) if wrong else None
        choice = dict(scale=self.scale, k_bound="K", precision="ieee", bias="", bias_pointer="", epilogue="", launch="")
        activation, expect = "", ["passed"]
        if self.elements:
            choice |= dict(bm=rng.choice([64, 128]), bn=rng.choice([64, 128]), bk=32, bias=", bias", bias_pointer="bias_ptr, ")
            choice["precision"] = rng.choice(["ieee", "tf32x3"])
            choice["launch"] = launch_options(rng, self.elements, [4, 8] if choice["bm"] * choice["bn"] < 128 * 128 else [8])
            activation = self.right
        else:
            choice |= dict(bm=rng.choice([16, 32]), bn=rng.choice([16, 32]), bk=16)
        if fault == "values" and self.elements:
            activation, expect = self.wrong, ["wrong_values"]
        elif fault == "values":
            choice["scale"], expect = self.scale * 1.001, ["wrong_values"]
        elif fault == "k":  # the last block of K is left out
            choice["k_bound"], expect = f"K - {choice['bk']}", ["wrong_values"]
        elif fault == "tf32":
            choice["precision"], expect = "tf32", ["wrong_values"]
        if activation:
            choice["epilogue"] = EPILOGUE_LINES.format(activation=activation)
        return MATMUL_CANDIDATE.format(**choice), expect


KINDS = [Pointwise, Reduction, Matmul]
TRIES = 50  # a reference has only so many distinct candidates


def candidates(count, seed, elements=None, right=False, group=1):
    """Yields lines of a batch; `elements`: (low, high) of the largest tensor, drawn log-uniformly."""
    rng = random.Random(seed)
    seen, number, index, task, members, tries = set(), 0, 0, None, 0, 0
    while number < count:
        if task is None:
            task, members, tries = KINDS[index % 3](rng, log_uniform(rng, *elements) if elements else 0), 0, 0
        text, expect = task.candidate(rng, wrong=not right and (index // 3 + members) % 2 == 1)
        if text in seen:
            tries += 1
        else:
            seen.add(text)
            yield dict(id=f"{number:04}", reference=task.reference, candidate=text, expect=expect)
            number += 1
            members += 1
        if members == group or tries > TRIES:
            index += 1
            task = None
        elif group == 1:  # the text was there already, and so may all others of this reference be
            task = None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--elements", type=int, nargs=2, metavar=("LOW", "HIGH"),
                        help="of the largest tensor, at least 20000; for a GPU")
    parser.add_argument("--right", action="store_true", help="plant no faults")
    parser.add_argument("--group", type=int, default=1, metavar="N",
                        help="candidates of one reference in a row, where it has so many")
    arguments = parser.parse_args()
    if arguments.elements and not 20000 <= arguments.elements[0] <= arguments.elements[1]:
        parser.error("--elements takes two numbers in rising order, at least 20000")
    for line in candidates(arguments.count, arguments.seed, arguments.elements, arguments.right, arguments.group):
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
