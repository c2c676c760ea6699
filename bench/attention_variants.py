#!/usr/bin/env python3
"""Which form of training's attention is quickest: compiles and times variants of its kernels (bench/attention_variant_kernels.py) beside
those that the program has, at the shapes that it trains. Hill climbing from a grid of tiles: each round times the neighbours of the best.
Every variant's results are compared with fp32 autograd on a short batch, and with the program's own kernels on the long one.

    bench/attention_variants.py [--seconds 100] [--out FILE]        HEAD_DIM=128 for heads of 128 instead of 64
    TRITON_INTERPRET=1 bench/attention_variants.py      the same on the CPU with tiny shapes, where only errors mean something

Writes one JSON object: rows {kernel, options, ms by shape, error, registers, spilled}, the best of each kernel, and ATen's flash attention.
"""
import argparse
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import random
import sys
import time

import torch
import triton
from triton.runtime.jit import MockTensor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench import attention_variant_kernels as variants  # noqa: E402
from bench import compiled_usage, event_time  # noqa: E402
from kernels import packed_attention as today  # noqa: E402

REHEARSAL = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if REHEARSAL else "cuda"
DTYPE = torch.float32 if REHEARSAL else torch.bfloat16  # the interpreter multiplies no bf16
D = int(os.environ.get("HEAD_DIM", "64"))  # of the environment, as each process that compiles needs it
BOUND = 0.01  # relative error (2-norms) of bf16 results; 0.003 is rounding
SHAPES = {  # heads, kv_heads, tokens; variants are looked for at the first one
    64: {"384x10": (6, 2, 65536), "384x10, 32768": (6, 2, 32768), "512x6": (8, 2, 65536), "qwen2.5-0.5b": (14, 2, 32768)},
    128: {"4 heads": (4, 2, 65536), "one key head": (4, 1, 65536), "qwen3-0.6b": (16, 8, 16384)},
}[D]
TILES = {  # rows kept, rows of a block, warps
    "forward": ((128, 64, 8), (128, 64, 4), (64, 64, 4), (128, 128, 8), (64, 128, 4), (128, 32, 4), (64, 32, 4)),
    "dq": ((128, 64, 8), (128, 64, 4), (64, 64, 4), (128, 128, 8), (64, 128, 4), (128, 32, 8), (64, 32, 4), (128, 32, 4)),
    "dkv": ((128, 64, 8), (64, 64, 4), (128, 128, 8), (64, 128, 4), (128, 32, 8), (64, 32, 4), (128, 32, 4), (64, 64, 8)),
}
if REHEARSAL:
    SHAPES = {"few": (6, 2, 97), "as many heads": (2, 2, 70)}
    TILES = {kernel: ((32, 16, 4), (16, 32, 4)) for kernel in TILES}
MAIN = next(iter(SHAPES))
FLAGS = {"forward": ("SPLIT", "ORDERED"), "dq": ("SPLIT", "EARLY", "ORDERED"), "dkv": ("SPLIT", "EARLY", "FOLDED", "ORDERED", "BY_HEAD")}
POINTERS = {"forward": "bbibfi", "dq": "bbibfbbfi", "dkv": "bbifbfbbbbib"}  # of the arguments: bf16, int32, float32


class Batch:
    """Packed documents, random inputs, and memory for every result."""

    def __init__(self, heads, kv_heads, lengths, dtype=DTYPE):
        self.heads, self.kv_heads, self.lengths, self.tokens = heads, kv_heads, lengths, sum(lengths)
        generator = torch.Generator().manual_seed(5)
        n, both = self.tokens, heads + kv_heads

        def draw(count):
            return torch.randn(n, count, D, generator=generator).to(dtype).to(DEVICE)

        self.rotated, self.qkv, self.d_out = draw(both), draw(both + kv_heads), draw(heads)
        ends = torch.tensor(lengths).cumsum(0)
        self.positions = torch.cat([torch.arange(k) for k in lengths]).int().to(DEVICE)
        self.ends = torch.repeat_interleave(ends, torch.tensor(lengths)).int().to(DEVICE)
        self.out, self.lse = torch.empty_like(self.d_out), torch.empty(heads, n, device=DEVICE)
        self.d_rotated, self.d_qkv = torch.empty_like(self.rotated), torch.empty_like(self.qkv)
        self.along = torch.empty(heads, n, device=DEVICE)
        self.offsets = torch.zeros(heads, n, today.OFFSETS.value, dtype=dtype, device=DEVICE)
        self.d_keys, self.d_values = torch.empty_like(self.d_out), torch.empty_like(self.d_out)
        self.orders = {}
        self.scale = 1 / math.sqrt(D)
        self.pairs_of_tokens = sum(k * (k + 1) / 2 for k in lengths)

    def order(self, kernel, rows):
        """Tiles, those with most blocks to read first."""
        if (kernel, rows) not in self.orders:
            starts = torch.arange(0, self.tokens, rows, device=DEVICE)
            lasts = torch.clamp(starts + rows, max=self.tokens) - 1
            work = self.ends[lasts] - starts if kernel == "dkv" else lasts - (starts - self.positions[starts])
            self.orders[kernel, rows] = torch.argsort(work, descending=True, stable=True).int()
        return self.orders[kernel, rows]

    def fold(self):
        """offsets from lse and along, as packed_attention_dq makes them."""
        self.offsets.zero_()
        pieces = today.PIECES.value
        for first, numbers in ((0, -self.lse / self.numbers(False)[-1]), (pieces, -self.along)):
            for column in range(first, first + pieces):
                self.offsets[:, :, column] = numbers
                numbers = numbers - self.offsets[:, :, column].float()

    def numbers(self, scale=True):
        log_scale = self.scale * math.log2(math.e)
        return (self.tokens, self.heads, self.kv_heads, log_scale) + ((self.scale,) if scale else ())


def launch_today(kernel, batch):
    b = batch
    if REHEARSAL:  # which the program's tests do on the tile machine: the interpreter has not all that it needs
        return launch(kernel, options_of(kernel, TILES[kernel][0], 2, SPLIT=True), b)
    tiles, order = triton.cdiv(b.tokens, 64), b.order(kernel, 64)
    block, stages = (64, 3) if D <= 64 else {"forward": (64, 3), "dq": (64, 2), "dkv": (32, 3)}[kernel]  # as kernels/emit.py
    constants = dict(ROWS=64, BLOCK=block, D=D, PRECISION="tf32", num_warps=4, num_stages=stages)
    if kernel == "forward":
        today.packed_attention[b.heads, tiles](b.rotated, b.qkv, b.positions, order, b.out, b.lse, *b.numbers(False), **constants)
    elif kernel == "dq":
        today.packed_attention_dq[b.heads, tiles](b.rotated, b.qkv, b.positions, order, b.out, b.lse, b.d_out, b.d_rotated, b.offsets,
                                                  *b.numbers(), **constants)  # fmt: skip
    else:
        today.packed_attention_dkv[b.kv_heads, tiles](b.rotated, b.qkv, b.ends, order, b.d_out, b.offsets, b.d_rotated, b.d_qkv, *b.numbers(),
                                                      **constants)  # fmt: skip


def launch(kernel, options, batch):
    b = batch
    tiles = triton.cdiv(b.tokens, options["ROWS"])
    order = b.order(kernel, options["ROWS"])
    if kernel == "forward":
        variants.forward[b.heads, tiles](b.rotated, b.qkv, b.positions, b.out, b.lse, order, *b.numbers(False), D=D, **options)
    elif kernel == "dq":
        variants.dq[b.heads, tiles](b.rotated, b.qkv, b.positions, b.out, b.lse, b.d_out, b.d_rotated, b.along, order, *b.numbers(), D=D,
                                    **options)  # fmt: skip
    else:
        by_head = options["BY_HEAD"]
        variants.dkv[b.heads if by_head else b.kv_heads, tiles](b.rotated, b.qkv, b.ends, b.lse, b.d_out, b.along, b.d_rotated, b.d_qkv,
                                                                b.d_keys, b.d_values, order, b.offsets, *b.numbers(), D=D, **options)  # fmt: skip
        if by_head:
            variants.sum_heads[triton.cdiv(b.tokens, 32), b.kv_heads](b.d_keys, b.d_values, b.d_rotated, b.d_qkv, *b.numbers()[:3], ROWS=32,
                                                                      D=D, num_warps=4)  # fmt: skip


def parts(kernel, b):
    """What a kernel writes. (The program's dq writes offsets, which dkv reads; the variants' writes along.)"""
    if kernel == "forward":
        return [b.out, b.lse]
    if kernel == "dq":
        return [b.d_rotated[:, : b.heads], b.along]
    return [b.d_rotated[:, b.heads :], b.d_qkv[:, b.heads + b.kv_heads :]]


def poison(b):
    for tensor in (b.out, b.lse, b.d_rotated, b.d_qkv, b.d_keys, b.d_values):
        tensor.fill_(float("nan"))


def reference(b):
    """The same tensors by autograd in fp32, a document at a time."""
    group = b.heads // b.kv_heads
    rotated, values = b.rotated.float().requires_grad_(), b.qkv.float().requires_grad_()
    outs, sums, start = [], [], 0
    for length in b.lengths:
        at = slice(start, start + length)
        q = rotated[at, : b.heads].transpose(0, 1)
        k = rotated[at, b.heads :].transpose(0, 1).repeat_interleave(group, 0)
        v = values[at, b.heads + b.kv_heads :].transpose(0, 1).repeat_interleave(group, 0)
        mask = torch.ones(length, length, dtype=torch.bool, device=DEVICE).tril()
        scores = (q @ k.transpose(1, 2) * b.scale).masked_fill(~mask, float("-inf"))
        outs.append((scores.softmax(-1) @ v).transpose(0, 1))
        sums.append(scores.logsumexp(-1) * math.log2(math.e))
        start += length
    out, lse = torch.cat(outs), torch.cat(sums, 1)
    out.backward(b.d_out.float())
    along = (out * b.d_out.float()).sum(-1).T
    d_rotated, d_values = rotated.grad, values.grad
    return {"forward": [out.detach(), lse.detach()], "dq": [d_rotated[:, : b.heads], along.detach()],
            "dkv": [d_rotated[:, b.heads :], d_values[:, b.heads + b.kv_heads :]]}  # fmt: skip


def error(got, expected):
    """The largest relative error; a NaN anywhere is infinite."""
    found = max(((g.float() - e.float()).norm() / e.float().norm()).item() for g, e in zip(got, expected))
    return found if math.isfinite(found) else math.inf


def checked(kernel, options, b, expected):
    """Error of one launch over poisoned memory, what the kernel reads being the reference's."""
    poison(b)
    out, lse = expected["forward"]
    b.out.copy_(out), b.lse.copy_(lse)
    b.along.copy_(expected["dq"][1])
    b.fold()
    if kernel == "forward":
        b.out.fill_(float("nan")), b.lse.fill_(float("nan"))
    if kernel == "dq":
        b.along.fill_(float("nan")), b.offsets.fill_(float("nan"))
    launch(kernel, options, b) if options else launch_today(kernel, b)
    if kernel == "dq" and not options and not REHEARSAL:
        pieces = today.PIECES.value
        b.along.copy_(-b.offsets[:, :, pieces : 2 * pieces].float().sum(-1))
    return error(parts(kernel, b), expected[kernel])


def milliseconds(call):
    if not REHEARSAL:
        return event_time.milliseconds(call)
    call()
    return random.random()


def compile_variant(kernel, options, answer):
    """In a process of its own: into Triton's cache on disk."""
    triton.runtime.driver.set_active(compiled_usage.NoDriver())
    types = {"b": MockTensor(DTYPE), "i": MockTensor(torch.int32), "f": MockTensor(torch.float32)}
    pointers = [types[letter] for letter in POINTERS[kernel]]
    numbers = (65536, 6, 2, 0.18) + ((0.125,) if kernel != "forward" else ())
    compiled = getattr(variants, kernel).warmup(*pointers, *numbers, D=D, grid=(1,), **options)
    answer.send(compiled_usage.resources(compiled))


def compile_all(jobs, deadline):
    """{job index: registers, …} of those that compile."""
    if REHEARSAL:
        return {index: {} for index in range(len(jobs))}
    context = multiprocessing.get_context("forkserver")
    waiting, running, done = list(range(len(jobs))), {}, {}
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            index = waiting.pop(0)
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=compile_variant, args=(*jobs[index], there), daemon=True)
            process.start()
            there.close()
            running[index] = (process, here)
        for index, (process, pipe) in list(running.items()):
            if pipe.poll(0.01):
                try:
                    done[index] = pipe.recv()
                except EOFError:
                    print("does not compile:", jobs[index], file=sys.stderr)
            elif time.monotonic() > deadline:
                process.kill()
            else:
                continue
            process.join()
            del running[index]
        if time.monotonic() > deadline:
            waiting.clear()
    return done


def options_of(kernel, tile, stages, **flags):
    rows, block, warps = tile
    made = {"ROWS": rows, "BLOCK": block, "num_warps": warps, "num_stages": stages, "maxnreg": None}
    return made | {flag: flags.get(flag, flag == "ORDERED") for flag in FLAGS[kernel]}


def first_round(kernel):
    for tile in TILES[kernel]:
        for stages in (2,) if REHEARSAL else (2, 3):
            for split in (True, False):
                for folded in (True, False) if kernel == "dkv" else (False,):
                    yield options_of(kernel, tile, stages, SPLIT=split, FOLDED=folded)


def neighbours(kernel, options):
    for flag in FLAGS[kernel]:
        yield options | {flag: not options[flag]}
    if REHEARSAL:
        return
    for stages in (options["num_stages"] - 1, options["num_stages"] + 1):
        if 1 <= stages <= 5:
            yield options | {"num_stages": stages}
    for registers in (None, 128, 168, 208):
        if registers != options["maxnreg"]:
            yield options | {"maxnreg": registers}
    for tile in TILES[kernel]:
        if sum(a != b for a, b in zip(tile, (options["ROWS"], options["BLOCK"], options["num_warps"]))) == 1:
            yield options | dict(zip(("ROWS", "BLOCK", "num_warps"), tile))


def lengths_of(tokens):
    draw, lengths = random.Random(7), []
    while tokens > sum(lengths):
        lengths.append(min(draw.randint(*((1, 40) if REHEARSAL else (128, 2048))), tokens - sum(lengths)))
    return lengths


class Search:
    def __init__(self, seconds, out):
        self.begin, self.seconds, self.out = time.monotonic(), seconds, out
        lengths = [37, 1, 40, 16, 3] if REHEARSAL else [37, 1, 300, 128, 64, 5, 205, 300]
        self.small = Batch(6, 2, lengths)  # 1040: a multiple of 16, as in use, and of no tile
        self.small_expected = reference(self.small)
        self.large = {name: Batch(heads, kv, lengths_of(tokens)) for name, (heads, kv, tokens) in SHAPES.items()}
        self.rows = []
        self.main = self.large[MAIN]
        self.prepare()

    def left(self):
        return self.seconds - (time.monotonic() - self.begin)

    def prepare(self):
        """The program's own kernels, whose results on the large batches the variants read and are compared with."""
        expected = {}
        for kernel in TILES:
            small = checked(kernel, None, self.small, self.small_expected)
            assert small < BOUND, (kernel, small)
            row = {"kernel": kernel, "options": "today", "error": small, "ms": {}}
            for name, batch in self.large.items():
                row["ms"][name] = milliseconds(lambda b=batch: launch_today(kernel, b))
                if kernel == "dq":
                    batch.along.copy_((batch.out.float() * batch.d_out.float()).sum(-1).T)
                    batch.fold()
            expected[kernel] = [part.clone() for part in parts(kernel, self.main)]
            self.rows.append(row)
        self.main_expected = expected

    def time(self, kernel, options, usage):
        row = {"kernel": kernel, "options": options, **usage, "ms": {}}
        self.rows.append(row)
        try:
            row["error"] = checked(kernel, options, self.small, self.small_expected)
            row["error_long"] = checked(kernel, options, self.main, self.main_expected)
            row["ms"][MAIN] = milliseconds(lambda: launch(kernel, options, self.main))
        except (RuntimeError, triton.runtime.errors.OutOfResources) as caught:
            row["failed"] = str(caught)[:200]

    def best(self, kernel, count, shape=MAIN):
        good = [r for r in self.rows if r["kernel"] == kernel and r["options"] != "today" and shape in r["ms"]
                and r["error"] < BOUND and r["error_long"] < BOUND]  # fmt: skip
        return sorted(good, key=lambda r: r["ms"][shape])[:count]

    def round(self, jobs, share):
        seen = [(r["kernel"], r["options"]) for r in self.rows]
        fresh = []
        for job in itertools.chain(*itertools.zip_longest(*jobs)):  # each kernel in its turn, as time may run out
            if job is not None and job not in seen and job not in fresh:
                fresh.append(job)
        compiled = compile_all(fresh, time.monotonic() + share * self.left())
        print(f"{len(compiled)} of {len(fresh)} compiled, {self.left():.0f} s left", file=sys.stderr)
        for index in sorted(compiled):
            if self.left() > 8:
                self.time(*fresh[index], compiled[index])
        self.write()

    def run(self):
        self.round([[(kernel, options) for options in first_round(kernel)] for kernel in TILES], 0.6)
        for count in (3, 2, 2, 2):
            if self.left() > 15:
                self.round([[(kernel, near) for row in self.best(kernel, count) for near in neighbours(kernel, row["options"])]
                            for kernel in TILES], 0.6)  # fmt: skip
        for kernel in TILES:
            for row in self.best(kernel, 4):
                for name, batch in self.large.items():
                    if self.left() > 2:
                        row["ms"][name] = milliseconds(lambda b=batch, r=row: launch(kernel, r["options"], b))
        self.write()

    def write(self):
        table = {"device": "none" if REHEARSAL else torch.cuda.get_device_name(), "rows": self.rows, "flash": self.flash(), "best": {}}
        for name in SHAPES:
            for kernel in TILES:
                today_ms = next(r for r in self.rows if r["kernel"] == kernel and r["options"] == "today")["ms"][name]
                for row in self.best(kernel, 1, name):
                    table["best"].setdefault(name, {})[kernel] = {"today_ms": today_ms, "ms": row["ms"][name], "options": row["options"],
                                                                  "error": row["error"]}  # fmt: skip
        text = json.dumps(table, indent=1)
        if self.out:
            pathlib.Path(self.out).write_text(text + "\n")
        self.text = json.dumps(table["best"], indent=1)

    def flash(self):
        """ATen's flash attention at the main shape; None where it has none."""
        b = self.main
        q, k = b.rotated[:, : b.heads], b.rotated[:, b.heads :]
        v = b.qkv[:, b.heads + b.kv_heads :]
        starts = torch.cat([torch.zeros(1), torch.tensor(b.lengths).cumsum(0)]).int().to(DEVICE)
        longest = max(b.lengths)
        try:
            def forward():
                return torch.ops.aten._flash_attention_forward(q, k, v, starts, starts, longest, longest, 0.0, True, False)

            out, lse, seed, unused, _ = forward()
            return {"forward_ms": milliseconds(forward),
                    "backward_ms": milliseconds(lambda: torch.ops.aten._flash_attention_backward(
                        b.d_out, q, k, v, out, lse, starts, starts, longest, longest, 0.0, True, seed, unused))}  # fmt: skip
        except (RuntimeError, AttributeError) as caught:
            return str(caught)[:200]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=100, help="stop looking after so long")
    parser.add_argument("--out", help="file for the whole table; standard output has the best")
    options = parser.parse_args()
    multiprocessing.set_forkserver_preload(["bench.attention_variants"])
    search = Search(options.seconds, options.out)
    search.run()
    print(search.text)
    wrong = [row for row in search.rows if not row.get("error", math.inf) < BOUND]
    print(f"{len(search.rows)} variants, {len(wrong)} of them wrong or not launched", file=sys.stderr)
    if REHEARSAL and wrong:
        raise SystemExit(json.dumps(wrong, indent=1))


if __name__ == "__main__":
    main()
