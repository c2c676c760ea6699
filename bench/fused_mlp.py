#!/usr/bin/env python3
"""Would products of our own with SwiGLU in their epilogues be quicker than cuBLAS's with kernels of their own behind them? Forward: gate_up
and hidden by one kernel; backward: the gradient of down's input, which is not written, and gate_up's in its place.

    bench/fused_mlp.py [--hidden 896 --intermediate 4864 --tokens 32768] [--seconds 80]
    bench/fused_mlp.py --compile     for sm_90a, without a GPU: registers, stack, shared memory
    bench/fused_mlp.py --rehearse    small, on the CPU in Triton's interpreter

JSON on standard output: rows {what, tile, ms, error, registers}; "today" is torch.mm and the program's kernel. Alternatives take turns, over
random numbers, as long as there is time.
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
TILES = {  # rows, columns, inner, group of rows, warps, stages
    "forward": ((128, 128, 64, 8, 8, 3), (128, 128, 64, 8, 8, 4), (128, 64, 64, 8, 4, 3), (128, 64, 64, 8, 8, 3), (128, 64, 64, 8, 8, 4)),
    "backward": ((128, 128, 64, 8, 8, 3), (128, 128, 64, 8, 8, 4), (128, 64, 64, 8, 4, 4), (64, 128, 64, 8, 4, 4), (128, 64, 64, 8, 4, 3)),
}  # fmt: skip


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


def launch_of(what, tile, t, n, k):
    """(kernel, grid, arguments, constants)"""
    bm, bn, bk, group, warps, stages = tile
    rows = t["x"].size(0) if isinstance(t["x"], torch.Tensor) else 32768
    constants = {"BM": bm, "BN": bn, "BK": bk, "GROUP": group, "num_warps": warps, "num_stages": stages}
    grid = (triton.cdiv(rows, bm) * triton.cdiv(n, bn),)
    if what == "forward":
        return gate_up_swiglu, grid, (t["x"], t["gate_up_weight"], t["gate_up"], t["hidden"], rows, n, k), constants
    return down_swiglu_backward, grid, (t["x"], t["down_weight"], t["gate_up"], rows, n, k), constants


def shapes_of(o):
    n, k, rows = o.intermediate, o.hidden, o.tokens
    return {"x": (rows, k), "gate_up_weight": (2 * n, k), "down_weight": (k, n), "gate_up": (rows, 2 * n), "hidden": (rows, n)}


class Bench:
    def __init__(self, o):
        self.o, self.n, self.k = o, o.intermediate, o.hidden
        generator = torch.Generator(DEVICE).manual_seed(3)
        self.t = {name: (torch.randn(size, device=DEVICE, generator=generator) * (self.k**-0.5 if "weight" in name else 1)).to(DTYPE)
                  for name, size in shapes_of(o).items()}  # fmt: skip
        self.start = self.t["gate_up"].clone()

    def today(self, what):
        t, grid = self.t, (self.o.tokens, triton.cdiv(self.n, 1024))
        if what == "forward":
            torch.mm(t["x"], t["gate_up_weight"].t(), out=t["gate_up"])
            decoder.swiglu[grid](t["gate_up"], t["hidden"], self.n, BLOCK=1024)
        else:
            torch.mm(t["x"], t["down_weight"], out=t["hidden"])
            training.swiglu_backward[grid](t["gate_up"], t["hidden"], self.n, BLOCK=1024)

    def result(self, what, call):
        self.t["gate_up"].copy_(self.start)
        self.t["hidden"].zero_()
        call()
        return (self.t["gate_up"].clone(), self.t["hidden"].clone()) if what == "forward" else (self.t["gate_up"].clone(),)

    def error(self, what, call):
        expected, got = self.result(what, lambda: self.today(what)), self.result(what, call)
        return max(((a - b).norm() / b.norm()).item() for a, b in zip(got, expected))

    def milliseconds(self, what, call, repeats=8):
        self.t["gate_up"].copy_(self.start)  # gradients of gradients of … would vanish
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


def measure(o):
    begin, bench, rows = time.monotonic(), Bench(o), []
    for what, tiles in TILES.items():
        rows.append({"what": what, "tile": "today", "call": lambda what=what: bench.today(what), "ms": 1e9})
        for tile in tiles[:1] if REHEARSAL else tiles:
            if time.monotonic() - begin > o.seconds / 2:
                break
            tile = (16, 16, 16, 2, 4, 2) if REHEARSAL else tile
            kernel, grid, arguments, constants = launch_of(what, tile, bench.t, bench.n, bench.k)
            call = lambda kernel=kernel, grid=grid, arguments=arguments, constants=constants: kernel[grid](*arguments, **constants)  # noqa: E731
            try:
                row = {"what": what, "tile": tile, "error": bench.error(what, call), "call": call, "ms": 1e9}
            except Exception as caught:  # noqa: BLE001: what does not run is a row, too
                row = {"what": what, "tile": tile, "failed": str(caught)[:200]}
            rows.append(row)
            print(f"{time.monotonic() - begin:4.0f} s  {what} {tile} {row.get('error', row.get('failed'))}", file=sys.stderr, flush=True)
    rounds = 0
    while rounds < 10 and (rounds == 0 or time.monotonic() - begin < o.seconds):
        for row in rows:
            if "call" in row:
                row["ms"] = min(row["ms"], bench.milliseconds(row["what"], row["call"]))
        rounds += 1
    device = "none" if REHEARSAL else torch.cuda.get_device_name()
    print(json.dumps({"device": device, "rounds": rounds, "rows": [{k: v for k, v in row.items() if k != "call"} for row in rows]}, indent=1))


def compile_only(o):
    triton.runtime.driver.set_active(compiled_usage.NoDriver())
    mocks = {name: MockTensor(torch.bfloat16, size) for name, size in shapes_of(o).items()}
    for what, tiles in TILES.items():
        for tile in tiles:
            kernel, _, arguments, constants = launch_of(what, tile, mocks, o.intermediate, o.hidden)
            print(what, tile, compiled_usage.resources(kernel.warmup(*arguments, grid=(1,), **constants)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in {"hidden": 896, "intermediate": 4864, "tokens": 32768}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seconds", type=float, default=80)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--rehearse", action="store_true")
    options = parser.parse_args()
    if REHEARSAL:
        options.hidden, options.intermediate, options.tokens = 32, 48, 64
    compile_only(options) if options.compile else measure(options)


if __name__ == "__main__":
    main()
