#!/usr/bin/env python3
"""Every sample kernel (tests/kernels) on the tile machine and in Triton's own interpreter: equal values within rounding.

    tests/agreement.py TILE_RUN [NAME...]      TILE_RUN: the program of bench/tile_run.cc

Cases that the interpreter gets wrong (Case.no_interpreter) only have to run without a fault, or to be refused by name; tests in src/tile know their values.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

from tests.kernels import CASES  # noqa: E402

GOLDEN = ROOT / "tests" / "golden" / "ttir"


def as_bytes(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes() if tensor.dtype != torch.bool else \
        tensor.to(torch.uint8).numpy().tobytes()


def run_on_tile_machine(program, case, values, folder, **extra):
    """Launches once; returns the report and the buffers' bytes by parameter name."""
    buffers, arguments, names = [], [], []

    def add_tensor(name, tensor):
        path = folder / f"{name}.bin"
        path.write_bytes(as_bytes(tensor))
        buffers.append({"file": str(path), "name": name})
        names.append(name)
        return len(buffers) - 1

    for name, value in case.launch_arguments(values):
        if isinstance(value, torch.Tensor):
            arguments.append({"buffer": add_tensor(name, value)})
        elif isinstance(value, tuple):
            tensor = value[0]
            arguments.append({"buffer": add_tensor(name, tensor), "shape": list(tensor.shape), "strides": list(tensor.stride())})
        else:
            arguments.append({"float": value} if isinstance(value, float) else {"int": int(value)})
    grid = list(case.grid) + [1] * (3 - len(case.grid))
    manifest = {"ttir": str(GOLDEN / f"{case.name}.ttir"), "grid": grid, "buffers": buffers, "arguments": arguments, **extra}
    path = folder / "manifest.json"
    path.write_text(json.dumps(manifest))
    done = subprocess.run([program, str(path)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        return {"faults": [done.stderr.strip() or f"exit {done.returncode}"]}, {}
    return json.loads(done.stdout), {name: (folder / f"{name}.bin").read_bytes() for name in names}


def run_in_interpreter(case, values):
    arguments = {}
    for name, value in values.items():
        is_descriptor = isinstance(value, tuple) and value and isinstance(value[0], torch.Tensor)
        arguments[name] = TensorDescriptor.from_tensor(value[0], list(value[1])) if is_descriptor else value
    case.kernel[case.grid](**arguments, **case.constants)


def compare(expected, got_bytes, tolerance):
    """"" when equal within the tolerance, else what differs."""
    if expected.dtype == torch.bool:
        got = torch.frombuffer(bytearray(got_bytes), dtype=torch.uint8).bool().reshape(expected.shape)
    else:
        got = torch.frombuffer(bytearray(got_bytes), dtype=torch.uint8).view(expected.dtype).reshape(expected.shape)
    if not expected.dtype.is_floating_point:
        bad = (got != expected)
    else:
        e, g = expected.to(torch.float64), got.to(torch.float64)
        bad = ~(torch.isclose(g, e, rtol=tolerance, atol=tolerance, equal_nan=True))
    if not bad.any():
        return ""
    at = tuple(bad.nonzero()[0].tolist())
    return f"{int(bad.sum())} of {bad.numel()} differ, first at {at}: expected {expected[at].item()}, got {got[at].item()}"


def check(program, case):
    with tempfile.TemporaryDirectory() as folder:
        values = case.make_arguments()
        report, buffers = run_on_tile_machine(program, case, values, pathlib.Path(folder))
    if report["faults"]:
        refused = case.no_interpreter and any(words in report["faults"][0] for words in ("not supported on the CPU", "is not accepted"))
        return "" if refused else report["faults"][0]
    if case.no_interpreter:
        return ""
    run_in_interpreter(case, values)
    for name, tolerance in case.outputs().items():
        tensor = values[name][0] if isinstance(values[name], tuple) else values[name]
        difference = compare(tensor, buffers[name], tolerance)
        if difference:
            return f"{name}: {difference}"
    return ""


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    failures = 0
    cases = [case for name, case in sorted(CASES.items()) if not wanted or name in wanted]
    for case in cases:
        problem = check(program, case)
        if problem:
            failures += 1
            print(f"{case.name}: {problem}")
    print(f"{len(cases) - failures} of {len(cases)} kernels agree")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
