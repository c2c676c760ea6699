#!/usr/bin/env python3
"""Does the canonical program of each PyTorch file give what the file gives?

  bench/program_equality.py [--max-gflop 40] [--max-gb 4] FILE…

Each file's Model is built and called on the CPU, its canonical program (./tritogen program) is called with the same
inputs and state, and outputs are compared. Files that cost more than the limits, or whose program needs values that
stood in the file, are skipped and counted.
"""

from __future__ import annotations

import argparse
import collections
import copy
import os
import pathlib
import re
import subprocess

import torch
from torch.utils import _pytree as pytree

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRITOGEN = os.environ.get("TRITOGEN_BINARY", str(ROOT / "tritogen"))


def tritogen(*arguments: str) -> str:
    done = subprocess.run([TRITOGEN, "program", *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return done.stdout


def costs(files: list[str]) -> dict[str, tuple[float, float]]:
    """GFLOP and GB of each file's program."""
    found = re.findall(r"^(.*?): .*?, \d+ operations, (\S+) GFLOP, (\S+) MB$", tritogen("--check", *files), re.M)
    return {file: (float(flops), float(megabytes) / 1000) for file, flops, megabytes in found}


def leaves(text: str) -> list[tuple[str, str]]:
    """(role, name) of each parameter of the printed function."""
    head = text[text.index("def program(") : text.index("\n    return ")]
    found = []
    for line in head.splitlines()[1:]:
        match = re.match(r"    # \w+: [\w\d]+\[.*?\](?:, (\w+) \"(.*)\")?$", line)
        if match is None:
            break
        found.append((match[1] or "input", match[2] or ""))
    return found


def programs(files: list[str]) -> dict[str, str]:
    """The canonical program of each file."""
    if len(files) == 1:
        return {files[0]: tritogen(*files)}
    printed = tritogen(*files)
    starts = [printed.index(f"# {file}\n") for file in files] + [len(printed)]
    return {file: printed[start:end] for file, start, end in zip(files, starts, starts[1:])}


def compare(file: str, text: str) -> str:
    scope: dict = {}
    exec(compile(pathlib.Path(file).read_text(), file, "exec"), scope)
    torch.manual_seed(0)
    model = scope["Model"](*scope["get_init_inputs"]())
    inputs = scope["get_inputs"]()
    tensors = [x for x in pytree.tree_leaves(inputs) if isinstance(x, torch.Tensor)]
    state = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers(remove_duplicate=False))
    roles = leaves(text)
    if any(role not in ("input", "parameter", "buffer") or (role != "input" and name not in state) for role, name in roles):
        return "skipped: needs values from the constructor"
    with torch.no_grad():
        given = iter(copy.deepcopy(tensors))
        arguments = [next(given) if role == "input" else state[name].clone() for role, name in roles]
        want = pytree.tree_leaves(model(*inputs))
        printed: dict = {}
        exec(compile(text, "program", "exec"), printed)
        got = pytree.tree_leaves(printed["program"](*arguments))
    if re.search(r"torch\.rand|training=True\)|train=True", text):
        return "equal in shape, random" if [g.shape for g in got] == [w.shape for w in want] else "DIFFERENT"
    if all(torch.equal(g, w) for g, w in zip(got, want, strict=True)):
        return "equal bit by bit"
    error = max(float((g.double() - w.double()).abs().max() / w.double().abs().max()) for g, w in zip(got, want))
    return "equal within 1e-5" if error < 1e-5 else f"DIFFERENT by {error:.2e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--max-gflop", type=float, default=40)
    parser.add_argument("--max-gb", type=float, default=4)
    options = parser.parse_args()
    counted: collections.Counter = collections.Counter()
    cost = costs(options.files)
    small = [file for file in options.files if cost[file][0] <= options.max_gflop and cost[file][1] <= options.max_gb]
    texts = programs(small) if small else {}
    for file in options.files:
        try:
            outcome = compare(file, texts[file]) if file in texts else "skipped: over the limits"
        except Exception as error:  # noqa: BLE001 a file or its program that does not run is a result, too
            outcome = f"does not run: {type(error).__name__}: {str(error)[:100]}"
        counted[outcome] += 1
        print(f"{file}: {outcome}", flush=True)
    print(dict(counted))


if __name__ == "__main__":
    main()
