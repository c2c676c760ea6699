"""Times of eager fp32, eager TF32 and torch.compile for KernelBench tasks, by the clock that times candidates.

    python bench/baselines.py FOLDER_WITH_LEVELS --out times.jsonl --json bench/baselines/h200.json

Each task has a process of its own. Several compile side by side, and one at a time has the GPU alone and is timed
(worker/gpu_turn.py). Times are microseconds of one call; `method` says whether a CUDA graph was replayed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import tasks

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "worker"))

_QUERY = "clocks.sm,clocks.mem,temperature.gpu,power.draw,driver_version,clocks_event_reasons.active"
# As NVML numbers them (nvmlClocksEventReasons); idle and application clocks slow nothing down.
_REASONS = {
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake",
}
_SHARED = ("torch", "triton", "device", "driver")  # of all rows; stands at the head of the table


def clocks() -> dict[str, Any]:
    """Of the first GPU, now."""
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        line = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
        sm, memory, celsius, watts, driver, reasons = (field.strip() for field in line.split(","))
        bits = int(reasons, 16)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return {"problem": str(error)}
    return {
        "sm_mhz": _number(sm),
        "memory_mhz": _number(memory),
        "celsius": _number(celsius),
        "watts": _number(watts),
        "driver": driver,
        "throttle": [name for bit, name in _REASONS.items() if bits & bit],
    }


def _number(text: str) -> float | None:
    """Some cards keep some values to themselves: "[N/A]"."""
    try:
        return float(text)
    except ValueError:
        return None


def time_one(arguments: argparse.Namespace) -> dict[str, Any]:
    """The three times of one task, in this process."""
    import torch

    import compiled_baseline as baseline
    from clock import Options

    stage = baseline.Stage()
    options = Options(min_samples=arguments.samples, budget_seconds=arguments.seconds)
    try:
        stage("load the file")
        reference = baseline.Reference(str(arguments.one), "Model", is_function=False)
        import torch._inductor.compile_fx  # noqa: F401  seconds, before the GPU is used

        stage("use the GPU")
        turn = baseline.prepare_process(arguments.device)
        with torch.no_grad(), turn.shared():
            ready = baseline.make_ready(reference, arguments, stage, with_tf32=True)
            stage("time it")
            with turn.alone():
                times = baseline.time_programs(ready.programs, ready.state, options, arguments.device)
                seen = clocks()
    except Exception as error:  # whatever the reference or the compiler does
        return {"error": stage.failure(error)}
    method = "graph" if times["graph"] else "plain"
    return {
        **baseline.versions(arguments.device),
        "method": method,
        "times": {name: _short(timing) for name, timing in times[method].items()},
        "plain_us": {name: round(timing["median_us"], 3) for name, timing in times["plain"].items()},
        "compile_seconds": round(ready.compile_seconds, 2),
        "difference": ready.difference,
        "clocks": seen,
    }


def _short(timing: dict[str, Any]) -> dict[str, Any]:
    kept = {key: round(timing[key], 3) for key in ("median_us", "q1_us", "q3_us")}
    return {**kept, "samples": len(timing["samples_us"]), "stable": timing["stable"]}


def table(answers: dict[str, dict[str, Any]], names: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """What h200.json holds: what all tasks share once, then a row for each that was tried."""
    timed = [answer for answer in answers.values() if "times" in answer]
    head = {key: timed[0][key] for key in _SHARED} if timed else {}
    drivers = {answer["clocks"].get("driver") for answer in timed} - {None}
    rows = []
    for task, answer in sorted(answers.items()):
        rows.append({"task": task, **{key: value for key, value in answer.items() if key not in (*_SHARED, "task")}})
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "command": f"python bench/baselines.py FOLDER --samples {arguments.samples} --seconds {arguments.seconds}",
        **head,
        "driver_version": sorted(drivers),
        "timed": len(timed),
        "failed": len(answers) - len(timed),
        "not_run": sorted(set(names) - set(answers)),
        "tasks": rows,
    }


def continue_from(table: Path, out: Path) -> None:
    """Starts a JSONL with the rows of a table that an earlier run made."""
    made = json.loads(table.read_text())
    head = {key: made[key] for key in _SHARED if key in made}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(json.dumps({**head, **row}) + "\n" for row in made["tasks"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, help="JSONL; what it holds is not timed again")
    parser.add_argument("--json", type=Path, help="the table made of it; continued where it is there and the JSONL is not")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    parser.add_argument("--cache", default="/tmp/tritogen-inductor", help="folder of Inductor's caches")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--samples", type=int, default=50, help="of each program, at the least")
    parser.add_argument("--seconds", type=float, default=0.5, help="more samples in this time where they help")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--limit", type=float, default=240, help="seconds for one task")
    parser.add_argument("--stop-after", type=float, default=1e9, help="seconds after which no task is started")
    parser.add_argument("--only", default="", help="regular expression on the task's name")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)  # the process of one task
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(time_one(arguments)))
        return 0
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = arguments.cache
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(1, (os.cpu_count() or 1) // arguments.jobs)))
    files = [file for file in tasks.tasks(arguments.folder) if re.search(arguments.only, tasks.name(file))]
    same = ["--device", arguments.device, "--backend", arguments.backend, "--seed", arguments.seed]
    same += ["--samples", arguments.samples, "--seconds", arguments.seconds]
    base = [sys.executable, __file__, *map(str, same)]
    if arguments.json and arguments.json.exists() and not arguments.out.exists():
        continue_from(arguments.json, arguments.out)
    answers = tasks.run_all(
        files, lambda file: [*base, "--one", str(file)], arguments.out, arguments.jobs, arguments.limit, arguments.stop_after
    )
    if arguments.json:
        names = [tasks.name(file) for file in tasks.tasks(arguments.folder)]
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(table(answers, names, arguments), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
