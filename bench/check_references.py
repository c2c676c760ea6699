"""Do references, recorded and replayed, give what eager PyTorch gives? Over KernelBench tasks, on the GPU.

    python bench/check_references.py FOLDER_WITH_LEVELS --binary build/release/bench/replay_references --out FILE.jsonl

Both sides start from the same seed on the CPU, so inputs and weights are the same numbers; TF32 is off. Outputs are
equal when no element is off by more than 1e-5 of the output's largest magnitude. What a constructor draws and keeps
outside of the state, a replay draws on its own device: where outputs differ, PyTorch does so, too, in a second try.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tasks

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "worker"))

EQUAL = 1e-5
_CHUNK_BYTES = 256 << 20


@dataclass
class Eager:
    """What eager PyTorch gives."""

    outputs: list[Any]
    spread: float  # of two calls with different seeds: random numbers, or additions in any order
    error: Callable[[], float]  # against fp64, computed when asked for


def eager(file: str, entry: str, seed: int, device: str, drawn_on: str) -> Eager:
    """The reference's outputs on the device, from inputs drawn on the CPU and a constructor that draws on `drawn_on`."""
    import torch
    from torch.utils._pytree import tree_leaves, tree_map_only

    import compiled_baseline as baseline

    baseline.set_precision(baseline.IEEE)
    if device == "cpu":
        torch.set_num_threads(1)
    reference = baseline.Reference(file, entry, is_function=False)
    inputs = reference.inputs(seed, "cpu")
    turn = baseline.gpu_turn(device)

    def made() -> torch.nn.Module:
        model = reference.callee(seed, "cpu")
        if drawn_on != "cpu":
            state = model.state_dict()
            model = reference.callee(seed, drawn_on)
            model.load_state_dict(state)
        return model

    def called(model: torch.nn.Module, seed: int, double: bool = False) -> list[torch.Tensor]:
        def moved(tensor: torch.Tensor) -> torch.Tensor:
            tensor = tensor.to(device, copy=True)
            return tensor.double() if double and tensor.is_floating_point() else tensor

        torch.manual_seed(seed)
        values = model(*tree_map_only(torch.Tensor, moved, inputs))
        return [leaf.contiguous() for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]

    def error() -> float:
        with torch.no_grad(), turn.shared():
            exact = called(made().double().to(device), seed, double=True)
        return worst_difference(exact, outputs)

    with torch.no_grad(), turn.shared():
        model = made().to(device)
        outputs = called(model, seed)
        spread = worst_difference(outputs, called(model, seed + 1))
        del model
        if device == "cuda":
            torch.cuda.empty_cache()
    return Eager(outputs, spread, error)


def worst_difference(expected: list[Any], got: list[Any]) -> float:
    """Of outputs of one shape, relative to each one's scale; piece by piece, since some fill half of the GPU."""
    worst = 0.0
    for pair in zip(expected, got):
        step = _CHUNK_BYTES // pair[0].element_size()
        pieces = zip(*(tensor.reshape(-1).split(step) for tensor in pair))
        found = [difference(a, b) for a, b in pieces]
        worst = max(worst, relative_to_scale(found))
    return worst


def relative_to_scale(pieces: list[dict[str, Any]]) -> float:
    absolute = max((piece["absolute"] for piece in pieces), default=0.0)
    scale = max((piece["scale"] for piece in pieces), default=0.0)
    return absolute / scale if scale else absolute and float("inf")


def difference(expected: Any, got: Any) -> dict[str, Any]:
    """Of two flat or equally shaped tensors on one device. NaN and Inf must stand in the same places."""
    a, b = expected.reshape(-1), got.reshape(-1)
    if not a.is_floating_point():
        same = bool((a == b).all())
        return {"scale": 1.0, "absolute": 0.0 if same else float("inf"), "bits": same}
    finite = a.isfinite()
    if not bool(((a == b) | (a.isnan() & b.isnan()) | (finite & b.isfinite())).all()):
        return {"scale": 1.0, "absolute": float("inf"), "bits": False}
    scale = a.abs().nan_to_num_(0, 0).max().item() if a.numel() else 0.0
    absolute = (a - b).abs_().nan_to_num_(0).max().item() if a.numel() else 0.0
    same = bool(((a == b) | (a.isnan() & b.isnan())).all())
    return {"scale": scale, "absolute": absolute, "bits": same}


def compare_stream(stream: Any, metas: list[dict[str, Any]], expected: list[Any]) -> dict[str, Any]:
    """Reads the replay's outputs piece by piece, since some are gigabytes."""
    import torch

    if len(metas) != len(expected):
        return {"error": f"{len(metas)} outputs instead of {len(expected)}"}
    worst = {"relative": 0.0, "bits": True}
    for i, (meta, ours) in enumerate(zip(metas, expected)):
        dtype = getattr(torch, meta["dtype"])
        if dtype != ours.dtype or meta["sizes"] != list(ours.shape):
            return {"error": f"output {i} is {meta['dtype']} {meta['sizes']} instead of {ours.dtype} {list(ours.shape)}"}
        flat = ours.reshape(-1)
        step = _CHUNK_BYTES // flat.element_size()
        found = []
        for first in range(0, flat.numel(), step):
            part = flat[first : first + step]
            theirs = torch.frombuffer(_read(stream, part.numel() * part.element_size()), dtype=dtype).to(part.device)
            found.append(difference(part, theirs))
        worst["bits"] &= all(piece["bits"] for piece in found)
        worst["relative"] = max(worst["relative"], relative_to_scale(found))
    return worst


def _read(stream: Any, count: int) -> bytearray:
    data = bytearray(count)
    view = memoryview(data)
    while view:
        got = stream.readinto(view)
        if not got:
            raise EOFError("the replay ended in the middle of its outputs")
        view = view[got:]
    return data


def check_one(arguments: argparse.Namespace) -> dict[str, Any]:
    answer = compare_one(arguments, "cpu")
    if answer.get("equal") is False and arguments.device != "cpu":
        answer = compare_one(arguments, arguments.device)
    return answer


def compare_one(arguments: argparse.Namespace, drawn_on: str) -> dict[str, Any]:
    file, device, seed = str(arguments.one), arguments.device, arguments.seed
    try:
        ours = eager(file, "Model", seed, device, drawn_on)
    except Exception as error:  # whatever the reference does
        return {"error": f"eager PyTorch: {type(error).__name__}: {error}"[:500]}
    command = [arguments.binary, file, "Model", seed, device, arguments.limit, sys.executable, ROOT / "worker"]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, env=_with_libraries()) as process:
        header = json.loads(process.stdout.readline())
        if "error" in header:
            return {"error": f"could not {header['stage']}: {header['error']}"[:500]}
        answer = compare_stream(process.stdout, header["outputs"], ours.outputs)
    if "error" in answer:
        return answer
    answer |= {"equal": answer["relative"] <= EQUAL, "drawn_on": drawn_on, "eager_spread": ours.spread}
    if not answer["equal"]:
        answer["eager_error"] = ours.error()
        answer["error"] = (
            f"off by {answer['relative']:.3g} of the scale; two eager calls differ by {ours.spread:.3g}, "
            f"eager PyTorch is itself {answer['eager_error']:.3g} off fp64"
        )
    return answer


def _with_libraries() -> dict[str, str]:
    """For a binary that was built elsewhere: this machine's libtorch, as in ./tritogen."""
    import torch

    packages = Path(torch.__file__).parent.parent
    folders = [packages / "torch" / "lib", *sorted(packages.glob("nvidia/*/lib"))]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, folders))}


def report(answers: dict[str, dict[str, Any]], total: int) -> dict[str, Any]:
    equal = {task: answer for task, answer in answers.items() if answer.get("equal")}
    off = sorted(answer["relative"] for answer in equal.values())
    limits = [0.0, 1e-8, 1e-7, 1e-6, EQUAL]
    return {
        "tasks": total,
        "equal": len(equal),
        "bit_equal": sum(answer["bits"] for answer in equal.values()),
        "drawn_on_the_gpu": [task for task, answer in sorted(equal.items()) if answer["drawn_on"] == "cuda"],
        "at_most": {f"{limit:g}": sum(value <= limit for value in off) for limit in limits},
        "failures": {task: answer.get("error") for task, answer in sorted(answers.items()) if task not in equal},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--limit", type=float, default=150, help="seconds for one task")
    parser.add_argument("--stop-after", type=float, default=1e9, help="seconds after which no task is started")
    parser.add_argument("--only", default="", help="regular expression on the task's name")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)  # the process of one task
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(check_one(arguments)))
        return 0
    files = [file for file in tasks.tasks(arguments.folder) if re.search(arguments.only, tasks.name(file))]
    same = ["--binary", arguments.binary, "--device", arguments.device, "--seed", arguments.seed, "--limit", arguments.limit]
    base = [sys.executable, __file__, *map(str, same)]
    answers = tasks.run_all(
        files, lambda file: [*base, "--one", str(file)], arguments.out, arguments.jobs, arguments.limit, arguments.stop_after
    )
    names = {tasks.name(file) for file in files}
    print(json.dumps(report({task: a for task, a in answers.items() if task in names}, len(files)), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
