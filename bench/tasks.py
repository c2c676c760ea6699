"""Runs a program on many KernelBench tasks, each in a process of its own, several at once; one JSON line a task.

An interrupted run goes on where it stopped: what the output file has a good answer for is not run again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

_OUT_OF_MEMORY = ("out of memory", "OutOfMemory")


def tasks(folder: Path) -> list[Path]:
    """Tasks of level1, level2, …, mixed: neighbours rarely need as much memory or time as each other."""
    files = folder.glob("level*/*.py")
    return sorted(files, key=lambda file: (int(file.name.split("_")[0]), file.parent.name))


def name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def finished(out: Path) -> dict[str, dict[str, Any]]:
    """What the file holds, the last line of each task; a line that was cut short does not count."""
    found = {}
    for line in out.read_text().splitlines() if out.exists() else []:
        try:
            answer = json.loads(line)
            found[answer["task"]] = answer
        except (json.JSONDecodeError, KeyError):
            continue
    return found


def run_one(command: Sequence[str], seconds: float) -> dict[str, Any]:
    """The last line of its stdout. It is killed with everything it started when the time is up."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"error": f"not done within {seconds:.0f} s"}
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    try:
        return json.loads(output.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        return {"error": f"ended with {process.returncode} and no answer: {''.join(last)[:500]}"}


def run_all(
    files: Sequence[Path],
    command: Callable[[Path], Sequence[str]],
    out: Path,
    jobs: int,
    seconds: float,
    stop_after: float,
) -> dict[str, dict[str, Any]]:
    """All tasks, `jobs` at once; those that ran out of memory once more, one by one. Starts none after `stop_after`."""
    start = time.monotonic()
    out.parent.mkdir(parents=True, exist_ok=True)
    answers = finished(out)
    todo = [file for file in files if "error" in answers.get(name(file), {"error": "none yet"})]
    total = len(todo)
    with out.open("a") as lines:

        def keep(file: Path, answer: dict[str, Any]) -> None:
            answers[name(file)] = answer = {"task": name(file), **answer}
            lines.write(json.dumps(answer) + "\n")
            lines.flush()

        def pass_over(files: list[Path], jobs: int) -> None:
            done = 0
            with ThreadPoolExecutor(jobs) as pool:
                running, waiting = {}, list(files)
                while running or waiting:
                    while waiting and len(running) < jobs and time.monotonic() - start < stop_after:
                        file = waiting.pop(0)
                        running[pool.submit(run_one, command(file), seconds)] = file
                    if not running:
                        print(f"{len(waiting)} left for another run", file=sys.stderr)
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        file = running.pop(future)
                        keep(file, future.result())
                        done += 1
                        spent = time.monotonic() - start
                        left = spent / done * (len(files) - done)
                        text = answers[name(file)].get("error", "done")
                        print(f"[{done}/{len(files)} {spent:.0f} s, {left:.0f} s left] {name(file)}: {text[:150]}", file=sys.stderr)

        pass_over(todo, jobs)
        if jobs > 1 and total:
            pass_over([file for file in todo if _is_out_of_memory(answers.get(name(file), {}))], 1)
    return answers


def _is_out_of_memory(answer: dict[str, Any]) -> bool:
    return any(text in answer.get("error", "") for text in _OUT_OF_MEMORY)
