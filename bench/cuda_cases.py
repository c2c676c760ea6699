#!/usr/bin/env python3
"""Writes every sample kernel (tests/kernels) with its arguments into one file, for bench/cuda_check.cc. Needs no GPU.

    bench/cuda_cases.py OUT.msgpack

A list of {"name", "ttir", "num_warps", "grid", "buffers", "arguments"}. A buffer is {"data", "dtype", "tolerance"}, the
tolerance nil where the kernel's result is compared nowhere; an argument is as in bench/tile_run.cc, a descriptor with its
"block".
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import msgpack  # noqa: E402
import torch  # noqa: E402

from tests.kernels import CASES  # noqa: E402


def buffer(tensor, tolerance):
    data = tensor.contiguous().view(torch.uint8).numpy().tobytes()
    return {"data": data, "dtype": str(tensor.dtype).removeprefix("torch."), "tolerance": tolerance}


def export(case):
    tolerances = case.outputs()
    buffers, arguments = [], []
    for name, value in case.launch_arguments(case.make_arguments()):
        if isinstance(value, (torch.Tensor, tuple)):
            tensor, block = (value, None) if isinstance(value, torch.Tensor) else value
            buffers.append(buffer(tensor, tolerances.get(name)))
            argument = {"buffer": len(buffers) - 1}
            if block is not None:
                argument |= {"shape": list(tensor.shape), "strides": list(tensor.stride()), "block": list(block)}
            arguments.append(argument)
        else:
            arguments.append({"float": value} if isinstance(value, float) else {"int": int(value)})
    ttir = (ROOT / "tests" / "golden" / "ttir" / f"{case.name}.ttir").read_text()
    grid = list(case.grid) + [1] * (3 - len(case.grid))
    warps = case.options.get("num_warps", 4)
    return {"name": case.name, "ttir": ttir, "num_warps": warps, "grid": grid, "buffers": buffers, "arguments": arguments}


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_bytes(msgpack.packb([export(case) for _, case in sorted(CASES.items())]))
