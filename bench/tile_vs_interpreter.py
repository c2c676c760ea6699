#!/usr/bin/env python3
"""The tile machine (memory checks on) against Triton's own interpreter: the same kernels on the same data.

    bench/tile_vs_interpreter.py TILE_RUN [--threads N] [--programs N]

TILE_RUN: the program of bench/tile_run.cc. The interpreter is timed on at most --programs program instances (its cost is
linear in them) and scaled to the grid; numpy must be older than 2.4. The tile machine runs the whole grid, best of five, and its
values are compared with PyTorch's.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent


def time_interpreter(name, programs):
    """In a process of its own: the switch to the interpreter works at import."""
    code = (f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import tile_vs_interpreter as t; "
            f"print(t.interpret({name!r}, {programs}))")
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True,
                          text=True, check=True)
    return float(done.stdout.split()[-1])


def interpret(name, programs):
    import tile_kernels
    kernel, grid, arguments, constants, _ = tile_kernels.cases()[name]
    share = min(programs, grid[0])
    kernel[(1,) + grid[1:]](*arguments, **constants)  # warm
    start = time.perf_counter()
    kernel[(share,) + grid[1:]](*arguments, **constants)
    return (time.perf_counter() - start) * grid[0] / share


def time_tile_machine(program, name, case, ttir, folder, threads):
    import torch
    _, grid, arguments, _, expected = case
    buffers, bound = [], []
    for value in arguments:
        if isinstance(value, torch.Tensor):
            path = folder / f"{len(buffers)}.bin"
            path.write_bytes(value.view(torch.uint8).numpy().tobytes())
            # The output is the one tensor that the case made with empty_like, the last one.
            bound.append({"buffer": len(buffers)})
            buffers.append({"file": str(path)})
        else:
            bound.append({"float": value} if isinstance(value, float) else {"int": value})
    buffers[-1]["defined"] = False
    manifest = {"ttir": str(ttir), "grid": list(grid) + [1] * (3 - len(grid)), "repeat": 5, "threads": threads,
                "buffers": buffers, "arguments": bound}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    report = json.loads(subprocess.run([program, str(folder / "manifest.json")], capture_output=True, check=True).stdout)
    if report["faults"]:
        raise SystemExit(f"{name}: {report['faults'][0]}")
    got = torch.frombuffer(bytearray(pathlib.Path(buffers[-1]["file"]).read_bytes()), dtype=torch.float32).reshape(expected.shape)
    error = ((got - expected).abs() / (expected.abs() + 1)).max().item()
    return min(report["seconds"]), report["load_seconds"], error


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tile_run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--programs", type=int, default=64)
    options = parser.parse_args()
    import tile_kernels
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, FOLDER / "tile_kernels.py", folder], check=True)
        print(f"{'kernel':12} {'interpreter':>12} {'tile machine':>13} {'ratio':>7} {'load':>9} {'error':>9}")
        for case_name, case in tile_kernels.cases().items():
            fast, load, error = time_tile_machine(options.tile_run, case_name, case, folder / f"{case_name}.ttir", folder, options.threads)
            slow = time_interpreter(case_name, options.programs)
            ratios.append(slow / fast)
            print(f"{case_name:12} {slow:10.3f} s {fast * 1e3:10.2f} ms {ratios[-1]:6.0f}x {load * 1e3:6.2f} ms {error:9.1e}")
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.0f}x")


if __name__ == "__main__":
    main()
