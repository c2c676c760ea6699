#!/usr/bin/env python3
"""Products with what stands behind them in one kernel, as bench/fused_products.py has them, in Gluon: a warp that loads by TMA and two groups of
four warps that multiply. In the first two kernels the groups take turns: one stores its tile while the other one multiplies; rows of the first
factor stay in shared memory. In the last two each group has half of whole rows.

    bench/gluon_products.py [--only forward,backward,add_norm,norm_backward]      on a Hopper GPU
    bench/gluon_products.py --compile                                             for sm_90a, without a GPU: registers, stack, shared memory

JSON on standard output: for each kernel the microseconds of torch.mm alone ("product"), of torch.mm and the program's kernel ("today"), and of
these ("gluon …"), and how far their results are from today's. Sizes are those of the shipped policy; bfloat16.
"""
import argparse
import json
import pathlib
import sys
import types

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench import compiled_usage, fused_products  # noqa: E402
from bench.gluon_kernels import add_norm, backward, forward, norm_backward  # noqa: E402

SIZES = types.SimpleNamespace(hidden=384, intermediate=1024, tokens=65536)
EPS = 1e-6
ROUNDS = 12


def layout_of(block):
    return gl.NVMMASharedLayout.get_default_for(list(block), gl.bfloat16)


# Kernel, tensors in the order of its arguments with the blocks of those that descriptors read, other arguments, constants.
def kernels_of(o):
    n, k = o.intermediate, o.hidden
    resident = {"BM": 128, "BK": 64, "KS": k // 64, "STAGES": 4}
    rows = {"BM": 128, "BN": 128, "PARTS": k // 128}

    def of_rows(step, stages):
        return rows | {"BK": step, "STAGES": stages}

    def add(step):
        return {"hidden": (64, step), "down_weight": (128, step), "x": None, "norm": None, "total": None, "out": None}

    def back(step):
        return {"gate_up": (64, step), "gate_up_weight": (step, 128), "x": None, "norm": None, "d_x": None, "parts": None}

    gated = {"gate_up": (128, 64)}
    forwards = {"x": (128, 64), "gate_up_weight": (64, 64), **gated, "hidden": (128, 64)}
    backwards = {"x": (128, 64), "down_weight": (64, 64), **gated}
    return {
        "forward": {"gluon": (forward, forwards, (o.tokens, n), resident | {"HN": 64})},
        "backward": {
            "gluon": (backward, backwards, (o.tokens, n), resident | {"BN": 64, "SLOTS": 3}),
            "gluon, two slots": (backward, backwards, (o.tokens, n), resident | {"BN": 64, "STAGES": 8, "SLOTS": 2}),
        },
        "add_norm": {f"gluon, steps of {s}": (add_norm, add(s), (o.tokens, n, EPS), of_rows(s, st)) for s, st in ((64, 3), (32, 6))},
        "norm_backward": {f"gluon, steps of {s}": (norm_backward, back(s), (o.tokens, 2 * n, EPS), of_rows(s, st)) for s, st in ((64, 3), (32, 6))},
    }


def launch_of(bench, kernel, tensors, numbers, constants):
    programs = torch.cuda.get_device_properties(0).multi_processor_count
    arguments = [bench.t[name] if block is None else TensorDescriptor.from_tensor(bench.t[name], list(block), layout_of(block))
                 for name, block in tensors.items()]  # fmt: skip
    return lambda: kernel[(programs,)](*arguments, *numbers, **constants, num_warps=4)


def measure(o, only):
    bench, rows = fused_products.Bench(o), []
    for what in only:
        calls = {name: launch_of(bench, *kernel) for name, kernel in kernels_of(o)[what].items()}
        errors = {name: bench.error(what, call) for name, call in calls.items()}
        calls |= {"today": lambda: bench.today(what), "product": lambda: bench.product(what)}
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(ROUNDS):
            for name, call in calls.items():
                best[name] = min(best[name], 1000 * bench.milliseconds(call))
        rows.append({"what": what, "us": best, "errors": errors})
        print(rows[-1], file=sys.stderr, flush=True)
    print(json.dumps({"device": torch.cuda.get_device_name(), "rows": rows}))


def compile_only(o, only):
    triton.runtime.driver.set_active(compiled_usage.NoDriver())
    for what in only:
        for name, (kernel, tensors, numbers, constants) in kernels_of(o)[what].items():
            def kind(tensor, block):
                if block is None:
                    return "*fp32" if tensor == "parts" else "*bf16"
                return f"tensordesc<bf16[{', '.join(map(str, block))}],{layout_of(block)!r}>"

            kinds = [kind(*tensor) for tensor in tensors.items()] + ["fp32" if isinstance(number, float) else "i32" for number in numbers]
            names = kernel.arg_names
            signature = dict(zip(names, kinds)) | {name: "constexpr" for name in names[len(kinds):]}
            source = GluonASTSource(kernel, signature, {(names.index(name),): value for name, value in (constants | {"num_warps": 4}).items()}, {})
            compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
            print(what, name, compiled_usage.resources(compiled), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(kernels_of(SIZES)))
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    (compile_only if options.compile else measure)(SIZES, options.only.split(","))


if __name__ == "__main__":
    main()
