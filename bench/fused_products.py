#!/usr/bin/env python3
"""Would products of our own with what stands behind them in their epilogues be quicker than cuBLAS's with kernels of their own behind them?

    forward           gate_up and hidden = silu(gate) * up by one kernel
    backward          the gradient of down's input, which is not written, and gate_up's in its place
    add_norm          what down or attention_out adds, which is not written, the residual stream and its norm
    norm_backward     the gradient of a norm's result, which is not written, and that of the residual stream

    bench/fused_products.py [--hidden 384 --intermediate 1024 --tokens 65536] [--seconds 80] [--only forward,…]
    bench/fused_products.py --compile     for sm_90a, without a GPU: registers, stack, shared memory
    bench/fused_products.py --rehearse    small, on the CPU in Triton's interpreter

JSON on standard output: rows {what, tile, ms, error}; "today" is torch.mm and the program's kernel, "product" torch.mm alone. Alternatives
take turns, over random numbers, as long as there is time. The last two are for hidden sizes of up to 512, a multiple of 128: a program has
whole rows of the residual stream.
"""
import argparse
import json
import os
import pathlib
import sys
import time

if "--rehearse" in sys.argv:
    os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl
from triton.runtime.jit import MockTensor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench import compiled_usage  # noqa: E402
from kernels import decoder, training  # noqa: E402

REHEARSAL = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE, DTYPE = ("cpu", torch.float32) if REHEARSAL else ("cuda", torch.bfloat16)
EPS = 1e-6
WIDE = ((128, 128, 64, 8, 8, 3), (128, 128, 64, 8, 8, 4), (128, 64, 64, 8, 4, 3), (128, 64, 64, 8, 8, 3), (128, 64, 64, 8, 4, 4),
        (64, 128, 64, 8, 4, 3), (128, 128, 32, 8, 8, 4), (128, 64, 32, 8, 4, 4))  # fmt: skip
ROWS = ((64, 128, 64, 1, 8, 2), (64, 128, 64, 1, 8, 3), (64, 128, 32, 1, 8, 3), (64, 128, 32, 1, 8, 4), (64, 128, 64, 1, 4, 2),
        (128, 128, 64, 1, 16, 2), (128, 128, 32, 1, 16, 3), (128, 128, 32, 1, 16, 4))  # fmt: skip
TILES = {"forward": WIDE, "backward": WIDE, "add_norm": ROWS, "norm_backward": ROWS}  # rows, columns, inner, group of rows, warps, stages


@triton.jit
def place(rows, columns, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """The program's tile: GROUP tiles of rows share their columns' weights one after the other."""
    tall, wide = tl.cdiv(rows, BM), tl.cdiv(columns, BN)
    program = tl.program_id(0)
    group = program // (GROUP * wide)
    first = group * GROUP
    size = tl.minimum(tall - first, GROUP)
    inside = program % (GROUP * wide)
    return (first + inside % size) * BM + tl.arange(0, BM), (inside // size) * BN + tl.arange(0, BN)


@triton.jit
def gate_up_swiglu(x, weight, gate_up, hidden, rows, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """gate_up (rows, 2 n) = x (rows, k) @ weight (2 n, k).T; hidden (rows, n) = silu(gate) * up. Whole tiles only."""
    r, c = place(rows, n, BM, BN, GROUP)
    inner = tl.arange(0, BK)
    x_at = x + r.to(tl.int64)[:, None] * k + inner[None, :]
    w_at = weight + c[None, :] * k + inner[:, None]
    gate = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    for step in range(0, k, BK):
        a = tl.load(x_at + step)
        gate = tl.dot(a, tl.load(w_at + step), gate)
        up = tl.dot(a, tl.load(w_at + n * k + step), up)
    dtype: tl.constexpr = hidden.dtype.element_ty
    gate_rounded = gate.to(dtype)
    up_rounded = up.to(dtype)
    to = gate_up + r.to(tl.int64)[:, None] * (2 * n) + c[None, :]
    tl.store(to, gate_rounded)
    tl.store(to + n, up_rounded)
    wide = gate_rounded.to(tl.float32)
    tl.store(hidden + r.to(tl.int64)[:, None] * n + c[None, :], (wide * tl.sigmoid(wide)).to(dtype) * up_rounded)


@triton.jit
def down_swiglu_backward(d_out, weight, gate_up, rows, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """gate_up (rows, 2 n) becomes its gradient, from d_out (rows, k) and weight (k, n). Whole tiles only."""
    r, c = place(rows, n, BM, BN, GROUP)
    inner = tl.arange(0, BK)
    d_at = d_out + r.to(tl.int64)[:, None] * k + inner[None, :]
    w_at = weight + inner[:, None] * n + c[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(0, k, BK):
        acc = tl.dot(tl.load(d_at + step), tl.load(w_at + step * n), acc)
    dtype: tl.constexpr = gate_up.dtype.element_ty
    d = acc.to(dtype).to(tl.float32)
    to = gate_up + r.to(tl.int64)[:, None] * (2 * n) + c[None, :]
    gate = tl.load(to).to(tl.float32)
    up = tl.load(to + n).to(tl.float32)
    sigmoid = tl.sigmoid(gate)
    silu = gate * sigmoid
    tl.store(to, (d * up * (sigmoid + silu * (1.0 - sigmoid))).to(dtype))
    tl.store(to + n, (d * silu).to(dtype))


@triton.jit
def whole_rows(a_at, w_at, k, along_k, along_n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    """Whole rows of a product, in PARTS tiles of BN columns; a step along k, and a column, are so many elements of the weights."""
    sums = ()
    for _ in tl.static_range(PARTS):
        sums = sums + (tl.zeros((BM, BN), tl.float32),)
    for step in range(0, k, BK):
        piece = tl.load(a_at + step)
        more = ()
        for i in tl.static_range(PARTS):
            more = more + (tl.dot(piece, tl.load(w_at + step * along_k + i * BN * along_n), sums[i]),)
        sums = more
    return sums


@triton.jit
def linear_add_norm(a, weight, x, norm, total, out, n, k, eps, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    """total (rows, n) = x + a (rows, k) @ weight (n, k).T, out = total / rms(total) * norm; n is PARTS times BN. Whole tiles only."""
    r = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)[:, None]
    inner = tl.arange(0, BK)
    column = tl.arange(0, BN)
    a_at = a + r * k + inner[None, :]
    w_at = weight + column[None, :] * k + inner[:, None]
    sums = whole_rows(a_at, w_at, k, 1, k, BM, BN, BK, PARTS)
    dtype: tl.constexpr = total.dtype.element_ty
    at = r * n + column[None, :]
    squares = tl.zeros((BM,), tl.float32)
    totals = ()
    for i in tl.static_range(PARTS):
        v = (tl.load(x + at + i * BN).to(tl.float32) + sums[i].to(dtype).to(tl.float32)).to(dtype)
        tl.store(total + at + i * BN, v)
        wide = v.to(tl.float32)
        squares += tl.sum(wide * wide, 1)
        totals = totals + (v,)
    scale = tl.rsqrt(squares / n + eps)[:, None]
    for i in tl.static_range(PARTS):
        tl.store(out + at + i * BN, (totals[i].to(tl.float32) * scale).to(dtype) * tl.load(norm + i * BN + column)[None, :])


@triton.jit
def input_norm_backward(d, weight, x, norm, d_x, parts, n, k, eps, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    """d_x (rows, n) += the gradient of x where d (rows, k) @ weight (k, n) is that of x / rms(x) * norm; parts (programs, n) of norm's.
    n is PARTS times BN. Whole tiles only."""
    r = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)[:, None]
    inner = tl.arange(0, BK)
    column = tl.arange(0, BN)
    d_at = d + r * k + inner[None, :]
    w_at = weight + inner[:, None] * n + column[None, :]
    sums = whole_rows(d_at, w_at, k, n, 1, BM, BN, BK, PARTS)
    at = r * n + column[None, :]
    square = tl.zeros((BM,), tl.float32)
    along = tl.zeros((BM,), tl.float32)
    for i in tl.static_range(PARTS):
        v = tl.load(x + at + i * BN).to(tl.float32)
        square += tl.sum(v * v, 1)
        along += tl.sum(sums[i] * tl.load(norm + i * BN + column).to(tl.float32)[None, :] * v, 1)
    scale = tl.rsqrt(square / n + eps)
    along = (along * scale / n)[:, None]
    scale = scale[:, None]
    for i in tl.static_range(PARTS):
        v = tl.load(x + at + i * BN).to(tl.float32) * scale
        tl.store(parts + tl.program_id(0).to(tl.int64) * n + i * BN + column, tl.sum(sums[i] * v, 0))
        passed = tl.load(d_x + at + i * BN).to(tl.float32)
        w = tl.load(norm + i * BN + column).to(tl.float32)[None, :]
        tl.store(d_x + at + i * BN, (passed + scale * (sums[i] * w - v * along)).to(d_x.dtype.element_ty))


def launch_of(what, tile, t, o):
    """(kernel, grid, arguments, constants)"""
    bm, bn, bk, group, warps, stages = tile
    rows, n, k = o.tokens, o.intermediate, o.hidden
    constants = {"BM": bm, "BN": bn, "BK": bk, "num_warps": warps, "num_stages": stages}
    if what in ("forward", "backward"):
        constants["GROUP"] = group
        grid = (triton.cdiv(rows, bm) * triton.cdiv(n, bn),)
        if what == "forward":
            return gate_up_swiglu, grid, (t["x"], t["gate_up_weight"], t["gate_up"], t["hidden"], rows, n, k), constants
        return down_swiglu_backward, grid, (t["x"], t["down_weight"], t["gate_up"], rows, n, k), constants
    constants["PARTS"] = k // bn
    grid = (rows // bm,)
    if what == "add_norm":
        return linear_add_norm, grid, (t["hidden"], t["down_weight"], t["x"], t["norm"], t["total"], t["out"], k, n, EPS), constants
    return input_norm_backward, grid, (t["gate_up"], t["gate_up_weight"], t["x"], t["norm"], t["d_x"], t["parts"], k, 2 * n, EPS), constants


def shapes_of(o):
    n, k, rows = o.intermediate, o.hidden, o.tokens
    return {"x": (rows, k), "gate_up_weight": (2 * n, k), "down_weight": (k, n), "gate_up": (rows, 2 * n), "hidden": (rows, n), "norm": (k,),
            "total": (rows, k), "out": (rows, k), "d_x": (rows, k)}  # fmt: skip


CHANGED = {"forward": ("gate_up", "hidden"), "backward": ("gate_up",), "add_norm": ("total", "out"), "norm_backward": ("d_x", "weight_gradient")}


class Bench:
    def __init__(self, o):
        self.o, self.n, self.k = o, o.intermediate, o.hidden
        generator = torch.Generator(DEVICE).manual_seed(3)
        self.t = {name: (torch.randn(size, device=DEVICE, generator=generator) * (self.k**-0.5 if "weight" in name else 1)).to(DTYPE)
                  for name, size in shapes_of(o).items()}  # fmt: skip
        self.t["parts"] = torch.zeros(max(528, o.tokens // 16), self.k, device=DEVICE)
        self.start = {name: self.t[name].clone() for name in ("gate_up", "d_x", "hidden")}

    def product(self, what):
        t = self.t
        if what == "forward":
            torch.mm(t["x"], t["gate_up_weight"].t(), out=t["gate_up"])
        elif what == "backward":
            torch.mm(t["x"], t["down_weight"], out=t["hidden"])
        elif what == "add_norm":
            torch.mm(t["hidden"], t["down_weight"].t(), out=t["out"])
        else:
            torch.mm(t["gate_up"], t["gate_up_weight"], out=t["out"])

    def today(self, what):
        t, o, n, k = self.t, self.o, self.n, self.k
        width = triton.next_power_of_2(k)
        tile = {"ROWS": max(1, 2048 // width), "BLOCK": width}
        self.product(what)
        if what == "forward":
            decoder.swiglu[(o.tokens, triton.cdiv(n, 1024))](t["gate_up"], t["hidden"], n, BLOCK=1024)
        elif what == "backward":
            training.swiglu_backward[(o.tokens, triton.cdiv(n, 1024))](t["gate_up"], t["hidden"], n, BLOCK=1024)
        elif what == "add_norm":
            grid = (triton.cdiv(o.tokens, tile["ROWS"]),)
            training.add_norm[grid](t["x"], t["out"], t["norm"], t["total"], t["out"], o.tokens, k, EPS, **tile)
        else:
            programs = min(528, triton.cdiv(o.tokens, tile["ROWS"]))
            training.norm_backward[(programs,)](t["x"], t["norm"], t["out"], t["d_x"], t["parts"], o.tokens, k, EPS, ADD=True, AHEAD=2, **tile)

    def set_up(self):
        for name, values in self.start.items():  # gradients of gradients of … would vanish
            self.t[name].copy_(values)

    def result(self, what, call):
        self.set_up()
        self.t["parts"].zero_()
        call()
        return [(self.t["parts"].sum(0) if name == "weight_gradient" else self.t[name].float()).clone() for name in CHANGED[what]]

    def error(self, what, call):
        expected, got = self.result(what, lambda: self.today(what)), self.result(what, call)
        return max(((a - b).norm() / b.norm()).item() for a, b in zip(got, expected))

    def milliseconds(self, call, repeats=8):
        self.set_up()
        if REHEARSAL:
            return 1.0
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        call()
        first.record()
        for _ in range(repeats):
            call()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / repeats


def rows_of(o, bench, what, begin):
    yield {"what": what, "tile": "today", "call": lambda: bench.today(what), "ms": 1e9}
    yield {"what": what, "tile": "product", "call": lambda: bench.product(what), "ms": 1e9}
    for tile in TILES[what][:1] if REHEARSAL else TILES[what]:
        tile = (16, 16, 16, 2, 4, 2) if REHEARSAL else tile
        kernel, grid, arguments, constants = launch_of(what, tile, bench.t, o)
        call = lambda kernel=kernel, grid=grid, arguments=arguments, constants=constants: kernel[grid](*arguments, **constants)  # noqa: E731
        try:
            row = {"what": what, "tile": tile, "error": bench.error(what, call), "call": call, "ms": 1e9}
        except Exception as caught:  # noqa: BLE001: what does not run is a row, too
            row = {"what": what, "tile": tile, "failed": str(caught)[:200]}
        print(f"{time.monotonic() - begin:4.0f} s  {what} {tile} {row.get('error', row.get('failed'))}", file=sys.stderr, flush=True)
        yield row


def measure(o):
    begin, bench, rows = time.monotonic(), Bench(o), []
    for what in o.only.split(","):
        rows.extend(rows_of(o, bench, what, begin))
    rounds = 0
    while rounds < 10 and (rounds == 0 or time.monotonic() - begin < o.seconds):
        for row in rows:
            if "call" in row:
                row["ms"] = min(row["ms"], bench.milliseconds(row["call"]))
        rounds += 1
    device = "none" if REHEARSAL else torch.cuda.get_device_name()
    print(json.dumps({"device": device, "rounds": rounds, "rows": [{k: v for k, v in row.items() if k != "call"} for row in rows]}))


def compile_only(o):
    triton.runtime.driver.set_active(compiled_usage.NoDriver())
    mocks = {name: MockTensor(torch.bfloat16, size) for name, size in shapes_of(o).items()} | {"parts": MockTensor(torch.float32, (1024, o.hidden))}
    for what in o.only.split(","):
        for tile in TILES[what]:
            kernel, _, arguments, constants = launch_of(what, tile, mocks, o)
            print(what, tile, compiled_usage.resources(kernel.warmup(*arguments, grid=(1,), **constants)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in {"hidden": 384, "intermediate": 1024, "tokens": 65536}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seconds", type=float, default=80)
    parser.add_argument("--only", default=",".join(TILES))
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--rehearse", action="store_true")
    options = parser.parse_args()
    if REHEARSAL:
        options.hidden, options.intermediate, options.tokens = 48, 64, 64
    compile_only(options) if options.compile else measure(options)


if __name__ == "__main__":
    main()
