"""Runs `tritogen verify --batch` and says how fast its verdicts came: one JSON object on stdout.

    bench/timed_batch.py [--cores N] BATCH.jsonl VERDICTS.jsonl [OPTION OF verify ...]

There is a judge a core, so --cores bounds the judges, and with them what is kept in the GPU's memory. `rate`: candidates/s from
the first verdict to the last, which is what a batch without end has; `rate_whole`: over the whole command, start-up of the
program included. `wrong`: verdicts that the batch's lines do not expect.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_batch(batch: str, verdicts: str, options: list[str], cores: int | None = None) -> dict:
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(ours)[:cores])  # what is started from here has the same
    expect = {line["id"]: line.get("expect") for line in map(json.loads, open(batch))}
    start = time.monotonic()
    command = [str(ROOT / "tritogen"), "verify", "--batch", batch, *options]
    arrived, wrong, errors = [], [], 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, open(verdicts, "w") as out:
        os.sched_setaffinity(0, ours)
        for text in process.stdout:
            arrived.append(time.monotonic())
            out.write(text)
            verdict = json.loads(text)
            errors += verdict["verdict"] == "infra_error"
            if expect[verdict["id"]] and verdict["verdict"] not in expect[verdict["id"]]:
                wrong.append(f"{verdict['id']}: {verdict['verdict']} instead of {expect[verdict['id']]}: {verdict['reason']}")
    whole = time.monotonic() - start
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode} after {len(arrived)} verdicts")
    between = arrived[-1] - arrived[0]
    return {
        "command": " ".join(["tritogen", *command[1:]]),
        "candidates": len(arrived),
        "wrong": wrong,
        "infra_errors": errors,
        "seconds": round(whole, 3),
        "seconds_to_first": round(arrived[0] - start, 3),
        "rate": round((len(arrived) - 1) / between, 2) if between > 0 else None,
        "rate_whole": round(len(arrived) / whole, 2),
    }


def main() -> None:
    arguments, cores = sys.argv[1:], None
    if arguments[:1] == ["--cores"]:
        cores, arguments = int(arguments[1]), arguments[2:]
    if len(arguments) < 2:
        sys.exit(__doc__)
    print(json.dumps(run_batch(arguments[0], arguments[1], arguments[2:], cores), indent=1))


if __name__ == "__main__":
    main()
