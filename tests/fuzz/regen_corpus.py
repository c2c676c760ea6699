#!/usr/bin/env python3
"""Writes the seeds of fuzz_plan and fuzz_frame: Plans and replies as the worker sends them.

Recorded are the examples, the honest programs of the hostile corpus, and the programs below. Kept is each that shows a
kind of value, an operator or a dtype that no smaller one shows.
"""

import pathlib
import re
import struct
import sys

FUZZ = pathlib.Path(__file__).resolve().parent
ROOT = FUZZ.parent.parent
sys.path.insert(0, str(ROOT / "worker"))

import msgpack  # noqa: E402
import record  # noqa: E402

MAX_BYTES = 8 << 10  # fuzz_main.cc leaves longer seeds out

EVERY_VALUE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width, *rest):
        super().__init__()
        self.linear = torch.nn.Linear(width, 4)
        self.register_buffer("table", torch.tensor([1, 2, 3]))

    def forward(self, x, scale, flags, name, nothing):
        y = torch.relu(self.linear(x))[:, 1:].mul_(scale)
        z = x.to(torch.bfloat16).contiguous(memory_format=torch.contiguous_format)
        w = torch.full((2, 0), float("inf"), dtype=torch.float8_e5m2) if not flags[1] else torch.ones(3, device="cpu")
        return {"y": y, "z": [z, (self.table, w)], "n": nothing, "s": name, "i": 1 << 40, "f": -0.0}

def get_inputs():
    return [torch.randn(3, 8), 0.5, [True, False], "words", None]

def get_init_inputs():
    return [8, 1e300, (2, None)]
"""

AUTOTUNED = """
import torch, triton, triton.language as tl

@triton.jit
def twice(v):
    return v * 2

@triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 32}, num_warps=2)], key=["n"])
@triton.jit
def kernel(x, y, n, scale, flag, F: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + r, F(tl.load(x + r, mask=r < n)) * scale + flag, mask=r < n)

class Model(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel(), 0.5, True, F=twice)
        return y

def get_inputs():
    return [torch.randn(3, 8)]

def get_init_inputs():
    return []
"""

DESCRIPTOR = """
import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def copy(x, y):
    tl.store(y + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], x.load([0, 0]))

class Model(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        copy[(1,)](TensorDescriptor.from_tensor(x, [16, 16]), y, enable_fp_fusion=False, maxnreg=64, num_ctas=2)
        return y

def get_inputs():
    return [torch.randn(16, 16, dtype=torch.float16)]

def get_init_inputs():
    return []
"""

FAILURES = {
    "syntax_error": "def broken(:\n",
    "runtime_error": "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x @ x\n",
    "rejected": "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x.sum().item()\n",
    "no_model": "x = 1\n",
}

# Every form that MessagePack has for a value.
FORMS = {
    "integers": [(1 << bits) - 1 for bits in (0, 7, 8, 16, 32, 63, 64)] + [-(1 << bits) for bits in (0, 5, 7, 15, 31, 63)],
    "floats": [0.5, float("nan"), float("-inf"), -0.0],
    "texts": ["", "x" * 31, "\u00e4" * 20, "x" * 300],
    "bytes": [b"", b"\x7fELF" + bytes(300)],
    "lists": [[], list(range(16)), [[[[None, True, False]]]]],
    "maps": {str(n): {} for n in range(17)},
}


def reference(source, entry="Model"):
    request = {"role": "reference", "source": source, "entry": entry, "kind": "class", "capability": [9, 0]}
    return record.record(request)


def candidate(source, entry="Model", task=None):
    """`task`: the Plan whose inputs it is called with."""
    inputs = {"init_inputs": [], "inputs": [{"tensor": ["float32", [3, 8], [8, 1]]}]}
    if task:
        values = {key: [_value(task, value) for value in task[key]] for key in ("init_inputs", "inputs")}
        inputs = values
    request = {"role": "candidate", "source": source, "entry": entry, "kind": "class", "capability": [9, 0]}
    return record.record({**request, **inputs})


def _value(plan, value):
    if isinstance(value, dict) and "t" in value:
        _, dtype, sizes, strides, *_ = plan["tensors"][value["t"]]
        return {"tensor": [dtype, sizes, strides]}
    return [_value(plan, item) for item in value] if isinstance(value, list) else value


def replies():
    """Name and reply of every program."""
    for name, source in FAILURES.items():
        yield name, candidate(source)
    for name, source in {"every_value": EVERY_VALUE, "autotuned": AUTOTUNED, "descriptor": DESCRIPTOR}.items():
        yield name, reference(source)
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield path.stem, reference(path.read_text())
    hostile = ROOT / "tests/hostile"
    tasks = {path.stem: reference(path.read_text()) for path in sorted((hostile / "tasks").glob("*.py"))}
    yield from ((f"task_{name}", reply) for name, reply in tasks.items())
    for path in sorted(hostile.glob("*_honest.py")):
        task = re.search(r"^# task: (\w+)", path.read_text(), re.MULTILINE)[1]
        yield path.stem, candidate(path.read_text(), "ModelNew", tasks[task]["plan"])


def features(value, place=""):
    """What a seed has to offer: which types of value stand where, and which words."""
    if isinstance(value, dict):
        return {f"{place}.{key}" for key in value}.union(*(features(v, f"{place}.{k}") for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return {f"{place}[{min(len(value), 4)}]"}.union(*(features(item, f"{place}[]") for item in value))
    word = value if isinstance(value, str) and re.fullmatch(r"[\w.:]{1,40}", value) and ".line" not in place else ""
    return {f"{place}: {type(value).__name__} {word}"}


def write(folder, seeds):
    """The seeds that show something new, the smallest first."""
    for old in folder.iterdir():
        old.unlink()
    seen = set()
    for name, value, packed in sorted(seeds, key=lambda seed: len(seed[2])):
        shown = features(value)
        # Names of tensors and sources differ everywhere and show nothing.
        shown = {feature for feature in shown if not re.search(r"(name|source|support|ttir|state\S*):", feature)}
        if len(packed) > MAX_BYTES or shown <= seen:
            continue
        seen |= shown
        (folder / name).write_bytes(packed)


def frame(packed):
    return struct.pack("<I", len(packed)) + packed


def main():
    record.warm_up()
    plans, frames = [], []
    for name, reply in replies():
        packed = msgpack.packb(reply)
        if reply["ok"]:
            plans.append((name, reply["plan"], msgpack.packb(reply["plan"])))
        if not reply["ok"] or name in ("every_value", "autotuned"):
            frames.append((name, reply, frame(packed)))
    for single in (False, True):
        packed = msgpack.packb(FORMS, use_single_float=single)
        frames.append((f"forms_{'single' if single else 'double'}", {f"single {single}": FORMS}, frame(packed)))
    write(FUZZ / "corpus" / "plan", plans)
    write(FUZZ / "corpus" / "frame", frames)


if __name__ == "__main__":
    main()
