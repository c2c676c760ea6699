#!/usr/bin/env python3
"""What a training step is made of, but for attention (bench/attention_variants.py has that): every kernel of kernels/training.py and
every product at a model's sizes, with the bytes and operations that it cannot do without, and the time that these take at the least.

    bench/training_step_parts.py [--hidden 384 …] [--bandwidth 4.0e12] [--out FILE]
    TRITON_INTERPRET=1 bench/training_step_parts.py --tokens 64 --hidden 32 --intermediate 48 --vocabulary 80

JSON: parts {name, ms, times in a step, bytes, flops, bound_ms, of_bound}, sums for a step.
"""
import argparse
import json
import os
import pathlib
import sys
import time

import torch
import triton

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench import event_time  # noqa: E402
from kernels import decoder, training  # noqa: E402

REHEARSAL = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if REHEARSAL else "cuda"
PARTS = 1024  # as src/train/fused_pass.cc


def milliseconds(call):
    if not REHEARSAL:
        return event_time.milliseconds(call)
    call()
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)


class Step:
    def __init__(self, o):
        self.o, self.parts = o, []
        self.n, self.dtype = o.tokens, torch.float32 if REHEARSAL else torch.bfloat16
        self.size = torch.empty(0, dtype=self.dtype).element_size()
        self.heads, self.kv = o.heads * o.head_dim, o.kv_heads * o.head_dim

    def make(self, *shape, dtype=None):
        return torch.randn(*shape, device=DEVICE).to(dtype or self.dtype)

    def add(self, name, times, values, flops, call):
        """values: elements of the weights' dtype that are read or written at the least."""
        o, ms = self.o, milliseconds(call)
        bound = max(values * self.size / o.bandwidth, flops / o.peak) * 1e3
        self.parts.append({"name": name, "ms": ms, "times": times, "step_ms": ms * times, "bytes": values * self.size, "flops": flops,
                           "bound_ms": bound, "of_bound": bound / ms})  # fmt: skip

    def product(self, name, times, out, inputs):
        """Forward, to the input and to the weight (added in fp32), as src/train/linear.cc; tokens × inputs to tokens × out."""
        n = self.n if name != "output" else min(self.n, 16384)
        x, y, w = self.make(n, inputs), self.make(n, out), self.make(out, inputs)
        d_w = torch.zeros(out, inputs, device=DEVICE)
        flops, values = 2 * n * out * inputs, n * (out + inputs) + out * inputs
        self.add(f"{name}, forward", times, values, flops, lambda: torch.mm(x, w.t(), out=y))
        self.add(f"{name}, to input", times, values, flops, lambda: torch.mm(y, w, out=x))
        wide = {} if REHEARSAL else {"out_dtype": torch.float32}
        self.add(f"{name}, to weight", times, values, flops, lambda: torch.mm(y.t(), x, out=d_w, **wide))
        self.add(f"{name}, to weight, added", 0, values, flops, lambda: torch.addmm(d_w, y.t(), x, out=d_w, **wide))

    def products(self):
        o, layers = self.o, self.o.layers
        self.product("qkv", layers, self.heads + 2 * self.kv, o.hidden)
        self.product("attention_out", layers, o.hidden, self.heads)
        self.product("gate_up", layers, 2 * o.intermediate, o.hidden)
        self.product("down", layers, o.hidden, o.intermediate)
        self.product("output", -(-self.n // 16384), o.vocabulary, o.hidden)

    def norms(self):
        o, n = self.o, self.n
        width = max(512, triton.next_power_of_2(o.hidden))
        tile = {"ROWS": max(1, 2048 // width), "BLOCK": width, "num_warps": 8 if width > 2048 else 4}
        x, delta, total, out = (self.make(n, o.hidden) for _ in range(4))
        weight, parts, gradient = self.make(o.hidden), self.make(2 * PARTS, o.hidden, dtype=torch.float32), torch.zeros(o.hidden, device=DEVICE)
        rows = triton.cdiv(n, tile["ROWS"])
        self.add("add_norm", 2 * o.layers, 4 * n * o.hidden, 0,
                 lambda: training.add_norm[rows,](x, delta, weight, total, out, n, o.hidden, 1e-6, **tile))  # fmt: skip
        for programs in (PARTS, 528, 660, 2048):
            programs, here = min(programs, rows), programs == 528
            self.add(f"norm_backward by {programs}", 2 * o.layers if here else 0, 4 * n * o.hidden, 0, lambda p=programs: training.norm_backward[p,](
                x, weight, delta, out, parts, n, o.hidden, 1e-6, ADD=True, AHEAD=3, **tile))  # fmt: skip
        programs = min(PARTS, rows)
        place = torch.zeros(1, dtype=torch.int64, device=DEVICE)
        self.add("add_parts, a vector", 2 * o.layers, 2 * programs * o.hidden, 0, lambda: training.add_parts[triton.cdiv(o.hidden, 32), 1](
            parts, place, gradient, programs, o.hidden, ADD=False, ROWS=256, COLUMNS=32, num_warps=8))  # fmt: skip
        wide = self.make(n, self.heads + 2 * self.kv)
        columns = triton.cdiv(wide.size(1), 128)
        shares = max(1, min(660 // columns, triton.cdiv(n, 32)))
        sums = self.make(shares, wide.size(1), dtype=torch.float32)
        self.add("sum_rows of d_qkv", o.layers, n * wide.size(1), 0, lambda: training.sum_rows[shares, columns](
            wide, sums, n, wide.size(1), ROWS=32, COLUMNS=128))  # fmt: skip

    def rope(self):
        o, n, d = self.o, self.n, self.o.head_dim
        both = o.heads + o.kv_heads
        qkv, d_qkv, out = self.make(n, self.heads + 2 * self.kv), self.make(n, self.heads + 2 * self.kv), self.make(n, both * d)
        norm, table = self.make(d), self.make(o.longest, 2, d // 2, dtype=torch.float32)
        positions, parts = (torch.arange(n, device=DEVICE) % o.longest).int(), self.make(2, PARTS, d, dtype=torch.float32)
        rows, constants = n * both, {"NORM": True, "ROWS": 2048 // d, "D": d}
        tiles = triton.cdiv(rows, constants["ROWS"])
        self.add("rope_heads", o.layers, 2 * rows * d, 0, lambda: training.rope_heads[tiles,](
            qkv, norm, norm, table, positions, out, rows, o.heads, o.kv_heads, 1e-6, **constants))  # fmt: skip
        self.add("rope_heads_backward", o.layers, 3 * rows * d, 0, lambda: training.rope_heads_backward[min(PARTS, tiles),](
            qkv, norm, norm, table, positions, out, d_qkv, parts, rows, o.heads, o.kv_heads, 1e-6, **constants))  # fmt: skip

    def mlp(self):
        o, n = self.o, self.n
        gate_up, hidden = self.make(n, 2 * o.intermediate), self.make(n, o.intermediate)
        grid = (n, triton.cdiv(o.intermediate, 1024))
        self.add("swiglu", o.layers, 3 * n * o.intermediate, 0,
                 lambda: decoder.swiglu[grid](gate_up, hidden, o.intermediate, BLOCK=1024))  # fmt: skip
        for block, warps in ((1024, 4), (512, 2), (1024, 2)):
            grid_of = (n, triton.cdiv(o.intermediate, block))
            here = (block, warps) == (1024, 4)
            self.add(f"swiglu_backward{'' if here else f' ({block}, {warps} warps)'}", o.layers if here else 0, 5 * n * o.intermediate, 0,
                     lambda g=grid_of, b=block, w=warps: training.swiglu_backward[g](gate_up, hidden, o.intermediate, BLOCK=b,
                                                                                     num_warps=w))  # fmt: skip

    def ends(self):
        o, n = self.o, self.n
        for chunk in sorted({min(n, 4096), min(n, 16384), n}):
            logits, targets = self.make(chunk, o.vocabulary), torch.randint(o.vocabulary, (chunk,), device=DEVICE).int()
            weights, losses = torch.ones(chunk, device=DEVICE), torch.empty(chunk, device=DEVICE)
            self.add(f"cross_entropy of {chunk} tokens", n // chunk if chunk == min(n, 16384) else 0, 2 * chunk * o.vocabulary, 0,
                     lambda c=chunk, args=(logits, targets, weights, losses): training.cross_entropy[c,](
                         *args, o.vocabulary, o.vocabulary, 1e-9, GRADIENT=True, AHEAD=1, LAST_USE="",
                         BLOCK=32768 if o.vocabulary > 16384 else 2048, num_warps=32 if o.vocabulary > 16384 else 4))  # fmt: skip
        x, gradient = self.make(n, o.hidden), torch.zeros(o.vocabulary, o.hidden, device=DEVICE)
        ids, order = torch.sort(torch.randint(o.vocabulary, (n,), device=DEVICE).int(), stable=True)
        tile, precision = {"ROWS": 64, "COLUMNS": 128}, "ieee" if self.dtype == torch.float32 else "tf32"
        grid = (triton.cdiv(n, tile["ROWS"]), triton.cdiv(o.hidden, tile["COLUMNS"]))
        parts = self.make(grid[0], 2, o.hidden, dtype=torch.float32)
        self.add("embedding_backward", 1, n * o.hidden, 0, lambda: training.embedding_backward[grid](
            ids, order, x, gradient, parts, n, o.hidden, PRECISION=precision, **tile))  # fmt: skip
        self.add("embedding_ends", 1, 0, 0, lambda: training.embedding_ends[grid](ids, gradient, parts, n, o.hidden, CHUNKS=16, **tile))
        self.add("sort of ids", 1, 6 * n, 0, lambda: torch.sort(ids, stable=True))
        table, norm, out = self.make(o.vocabulary, o.hidden), self.make(o.hidden), self.make(n, o.hidden)
        width = max(512, triton.next_power_of_2(o.hidden))
        rows = max(1, 2048 // width)
        self.add("embed_norm", 1, 2 * n * o.hidden, 0, lambda: training.embed_norm[triton.cdiv(n, rows),](
            table, ids, norm, x, out, n, o.hidden, 1e-6, ROWS=rows, BLOCK=width))  # fmt: skip
        if not REHEARSAL:  # the interpreter does not read a scalar as this kernel does
            self.optimizer()

    def optimizer(self):
        o = self.o
        layer = o.hidden * (2 * self.heads + 2 * self.kv + 3 * o.intermediate)
        count = o.layers * layer + o.hidden * o.vocabulary
        flat = [torch.zeros(count, device=DEVICE) for _ in range(4)]
        weights = torch.zeros(count, device=DEVICE, dtype=self.dtype)
        squared, parts = torch.ones(1, device=DEVICE), torch.empty(PARTS, device=DEVICE)
        wide = 4 // self.size
        self.add("adamw", 1, (7 * wide + 1) * count, 0, lambda: training.adamw[triton.cdiv(count, 1024),](
            flat[0], squared, *flat[1:], weights, count, count, 0.1, 1e-3, 0.1, 0.95, 0.05, 1.0, 1e-8, 1.0, BLOCK=1024))  # fmt: skip
        self.add("sum_squares", 1, wide * count, 0, lambda: training.sum_squares[PARTS,](flat[0], parts, count, BLOCK=1024))
        self.add("gradients to zero", 1, wide * count, 0, lambda: flat[0].zero_())

    def run(self):
        for part in (self.products, self.norms, self.rope, self.mlp, self.ends):
            part()
        is_product = [part["flops"] > 0 for part in self.parts]

        def total(key, of_products):
            return sum(p[key] * p["times"] for p, product in zip(self.parts, is_product) if product == of_products)

        return {"options": vars(self.o), "parts": self.parts, "products_ms": total("ms", True), "products_bound_ms": total("bound_ms", True),
                "rest_ms": total("ms", False), "rest_bound_ms": total("bound_ms", False)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    numbers = {"hidden": 384, "layers": 10, "heads": 6, "kv-heads": 2, "head-dim": 64, "intermediate": 1024, "vocabulary": 2048,
               "tokens": 65536, "longest": 2048}  # fmt: skip
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--bandwidth", type=float, default=4.8e12, help="bytes/s of the memory")
    parser.add_argument("--peak", type=float, default=989e12, help="FLOP/s")
    parser.add_argument("--out", help="file for the table; else standard output")
    options = parser.parse_args()
    text = json.dumps(Step(options).run(), indent=1)
    pathlib.Path(options.out).write_text(text + "\n") if options.out else print(text)


if __name__ == "__main__":
    main()
