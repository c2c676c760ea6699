#!/usr/bin/env python3
"""Which form of training's memory-bound kernels is quickest: times each as src/train launches it, then in other tiles and warps, at
two shapes. Each is compared with fp32 torch and must give the same bits twice.

    bench/training_kernel_variants.py [--seconds 60] [--out FILE.json] [--only KERNEL …]
    bench/training_kernel_variants.py --compile    for sm_90a, without a GPU: registers, spilled bytes, widths of loads and stores
    bench/training_kernel_variants.py --rehearse   a few tokens on the CPU in Triton's interpreter, where only errors mean something

JSON: rows {kernel, shape, form, ms, bound_ms, errors, registers, …}; standard output ends with the best of each kernel beside today's.
"""
import argparse
import concurrent.futures
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import re
import sys
import time

if "--rehearse" in sys.argv:
    os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
from triton.runtime.jit import MockTensor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench import compiled_usage  # noqa: E402
from bench import training_variant_cases as cases  # noqa: E402

REHEARSAL = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if REHEARSAL else "cuda"
DTYPE = torch.float32 if REHEARSAL else torch.bfloat16
BOUND = 2e-5 if REHEARSAL else 0.01  # relative error in 2-norms; rounding to bf16 is 0.002
MEMORY, COPIES = 4.8e12, 4.3e12  # bytes/s: the memory's, and what copies reach
MOST_SPILLED = 128  # bytes of a thread's stack, from which a variant is not timed
TYPES = {"b": DTYPE, "i": torch.int32, "f": torch.float32}


def usage_of(compiled, warps):
    needs = compiled_usage.resources(compiled)
    registers, shared = needs["registers"], needs["shared"]
    resident = min(64 // warps, 65536 // (-(-registers // 8) * 8 * 32 * warps), 32, 227 * 1024 // (shared + 1024))
    widths = {}
    for access, vector, bits in re.findall(r"\b(ld|st)\.global(?:\.[a-zL]\w*(?:::\w+)*)*?(?:\.(v\d))?\.b(\d+)", compiled.asm["ptx"]):
        name = f"{access} {int(vector[1:] if vector else 1) * int(bits) // 8}"
        widths[name] = widths.get(name, 0) + 1
    return {"registers": registers, "spilled": needs["stack"], "shared": shared, "programs_a_multiprocessor": resident,
            "accesses": widths}  # fmt: skip


def compile_variant(kernel, shape, variant):
    """In a process of its own: into Triton's cache on disk."""
    triton.runtime.driver.set_active(compiled_usage.NoDriver())
    case = cases.CASES[kernel](cases.SHAPES[shape])
    mocks = {name: MockTensor(TYPES[kind], size) for name, (kind, size) in case.tensors().items()}
    function, _, arguments, constants = case.plan(variant, mocks)
    return usage_of(function.warmup(*arguments, grid=(1,), **constants), constants.get("num_warps", 4))


def jobs_in_order(only):
    """Of each kernel and shape the first, then of each the second: today's, then the most promising."""
    lists = [[(kernel, shape, v) for v in cases.CASES[kernel](s).variants()]
             for kernel in cases.CASES for shape, s in cases.SHAPES.items() if not only or kernel in only]  # fmt: skip
    return [job for job in itertools.chain(*itertools.zip_longest(*lists)) if job is not None]


class Compiler:
    """Compiles ahead in other processes; the order of the jobs is kept."""

    def __init__(self, jobs):
        workers = max(1, (os.cpu_count() or 2) - 1)
        self.pool = None if REHEARSAL else concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("forkserver"))
        self.waiting = [None if REHEARSAL else self.pool.submit(compile_variant, *job) for job in jobs]

    def usage(self, index, seconds):
        return self.waiting[index].result(timeout=max(0.1, seconds)) if self.waiting[index] else {}

    def stop(self):
        if self.pool:
            processes = list((self.pool._processes or {}).values())
            self.pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.kill()


class Bench:
    """A kernel at a shape: its memory, what is expected, and times."""

    def __init__(self, kernel, shape):
        self.case = cases.CASES[kernel](cases.SHAPES[shape])
        specification = self.case.tensors()
        sets = 2 if self.case.bytes() < 1.5e9 and not REHEARSAL else 1
        generator = torch.Generator(DEVICE).manual_seed(5)
        self.sets = []
        for _ in range(sets):
            made = {name: torch.randn(size, device=DEVICE, generator=generator).to(TYPES[kind]) if kind in "bf" else
                    torch.zeros(size, device=DEVICE, dtype=TYPES[kind]) for name, (kind, size) in specification.items()}  # fmt: skip
            self.case.fill(made, generator)
            self.sets.append(made)
        self.pristine = {name: self.sets[0][name].clone() for name in self.case.changed}
        self.expected = self.case.expected(self.sets[0])

    def launch(self, variant, tensors):
        function, grid, arguments, constants = self.case.plan(variant, tensors)
        function[grid](*arguments, **constants)

    def once(self, variant):
        """Results over fresh inputs and poisoned outputs."""
        first = self.sets[0]
        for name in self.case.written:
            first[name].fill_(math.nan)
        for name, tensor in self.pristine.items():
            first[name].copy_(tensor)
        self.launch(variant, first)
        return {name: tensor.clone() for name, tensor in self.case.results(variant, first).items()}

    def errors(self, variant):
        one = self.once(variant)
        found = {name: ((one[name].float() - e).norm() / e.norm()).item() for name, e in self.expected.items()}
        two = self.once(variant)
        same = all(torch.equal(one[name], two[name]) for name in one)
        return {name: error if math.isfinite(error) else math.inf for name, error in found.items()}, same

    def milliseconds(self, variant):
        """Of one launch: the least of five replays of a graph of launches, over memory in turn. Each comes behind another replay, so that
        the device does not wait for the host."""
        if REHEARSAL:
            return 1.0
        repeats = min(12, max(3, math.ceil(1e-3 / (self.case.bytes() / MEMORY)))) // len(self.sets)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(repeats):
                for tensors in self.sets:
                    self.launch(variant, tensors)
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        best = math.inf
        for _ in range(5):
            graph.replay()
            first.record()
            graph.replay()
            last.record()
            last.synchronize()
            best = min(best, first.elapsed_time(last) / repeats / len(self.sets))
        return best


class Search:
    def __init__(self, options):
        self.begin, self.options, self.rows, self.benches = time.monotonic(), options, [], {}
        self.jobs = jobs_in_order(options.only)
        self.compiler = Compiler(self.jobs)

    def left(self):
        return self.options.seconds - (time.monotonic() - self.begin)

    def run(self):
        for index, (kernel, shape, variant) in enumerate(self.jobs):
            if self.left() < 3:
                print(f"time is up: {len(self.jobs) - index} of {len(self.jobs)} variants are left", flush=True)
                break
            row = {"kernel": kernel, "shape": shape, "form": variant}
            try:
                row |= self.compiler.usage(index, self.left() - 2)
                if row.get("spilled", 0) > MOST_SPILLED:
                    row["failed"] = f"spills {row['spilled']} bytes"
                else:
                    self.time(row)
            except Exception as caught:  # noqa: BLE001: a variant that fails is a row of the table
                row["failed"] = f"{type(caught).__name__}: {caught}"[:300]
            self.rows.append(row)
            result = row.get("failed") or f"{row['ms'] * 1e3:8.1f} us  {row['of_bound']:.2f}{'' if row['right'] else '  WRONG'}"
            print(f"{self.left():4.0f} s  {kernel:20} {shape:8} {result}  {cases.text_of(variant)}", flush=True)
            if index % 20 == 0:
                self.write()
        self.compiler.stop()
        self.write()

    def time(self, row):
        key = row["kernel"], row["shape"]
        if key not in self.benches:
            self.benches[key] = Bench(*key)
        bench = self.benches[key]
        row["errors"], row["same_bits"] = bench.errors(row["form"])
        row["right"] = row["same_bits"] and max(row["errors"].values()) < BOUND
        row["ms"] = bench.milliseconds(row["form"])
        row["bytes"] = bench.case.bytes()
        row["bound_ms"] = row["bytes"] / MEMORY * 1e3
        row["of_bound"], row["of_copies"] = row["bound_ms"] / row["ms"], row["bytes"] / COPIES * 1e3 / row["ms"]
        row["times"] = bench.case.times()

    def write(self):
        if not self.options.out:
            return
        device = "none" if REHEARSAL else torch.cuda.get_device_name()
        path = pathlib.Path(self.options.out)
        partial = path.with_name(path.name + ".tmp")
        partial.write_text(json.dumps({"device": device, "rows": self.rows}, indent=1) + "\n")
        partial.replace(path)

    def table(self):
        print(f"\n{'us':31}{'today':>8} {'bound':>7} {'best':>8} {'4.8':>5} {'4.3':>5} {'ms a step saved':>16}  best form")
        for shape in cases.SHAPES:
            saved = 0
            for kernel in cases.CASES:
                good = [r for r in self.rows if (r["kernel"], r["shape"]) == (kernel, shape) and r.get("right")]
                today = [r for r in good if r["form"]["form"] == "today"]
                if not today:
                    continue
                now, best = today[0], min(good, key=lambda r: r["ms"])
                gain = (now["ms"] - best["ms"]) * now["times"]
                saved += gain
                print(f"{shape:9} {kernel:21}{now['ms'] * 1e3:8.1f} {now['bound_ms'] * 1e3:7.1f} {best['ms'] * 1e3:8.1f} "
                      f"{best['of_bound']:5.2f} {best['of_copies']:5.2f} {gain:16.2f}  {cases.text_of(best['form'])}")  # fmt: skip
            print(f"{shape:9} {'sum':21}{saved:47.2f}")


def compile_only(options):
    jobs = jobs_in_order(options.only)
    compiler, bad = Compiler(jobs), 0
    for index, (kernel, shape, variant) in enumerate(jobs):
        try:
            u = compiler.usage(index, 600)
            bad += u["spilled"] > MOST_SPILLED
            print(f"{kernel:20} {shape:8} {u['registers']:3} registers {u['spilled']:4} spilled {u['shared']:6} shared "
                  f"{u['programs_a_multiprocessor']:2} at once  {u['accesses']}  {cases.text_of(variant)}", flush=True)  # fmt: skip
        except Exception as caught:  # noqa: BLE001
            bad += 1
            print(f"{kernel:20} {shape:8} does not compile: {cases.text_of(variant)}: {str(caught)[-300:]}", flush=True)
    compiler.stop()
    print(f"{len(jobs)} variants, {bad} of them do not compile or spill much")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="stop after so long")
    parser.add_argument("--out", help="file for the whole table")
    parser.add_argument("--only", nargs="*", choices=list(cases.CASES), help="these kernels")
    parser.add_argument("--compile", action="store_true", help="only compile, without a GPU")
    parser.add_argument("--rehearse", action="store_true", help="a few tokens in the interpreter")
    options = parser.parse_args()
    if options.compile:
        return compile_only(options)
    multiprocessing.set_forkserver_preload(["bench.training_variant_cases"])
    search = Search(options)
    search.run()
    search.table()
    wrong = [row for row in search.rows if not row.get("right")]
    print(f"{len(search.rows)} variants, {len(wrong)} of them wrong or not launched, {time.monotonic() - search.begin:.0f} s")
    if REHEARSAL and wrong:
        raise SystemExit(json.dumps(wrong, indent=1))


if __name__ == "__main__":
    main()
