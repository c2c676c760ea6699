"""Records cases.py into one MessagePack file a case. Run it again when the recorder or the cases change:

    python tests/golden/verdicts/record_cases.py [CASE...]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgpack

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[2] / "worker")]

import record as recorder  # noqa: E402
from cases import CASES  # noqa: E402


def in_child(request: dict) -> dict:
    """A record per process, as in the jail."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            pipe.write(msgpack.packb(recorder.record(request)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        reply = msgpack.unpackb(pipe.read())
    os.waitpid(child, 0)
    if not reply["ok"]:
        raise SystemExit(f"{request['role']} {request['entry']}: {reply['message']} (line {reply['line']})\n{reply['trace']}")
    return reply["plan"]


def descriptors(plan: dict, values: list) -> list:
    def describe(value):
        if isinstance(value, dict) and "t" in value:
            _, dtype, sizes, strides, _, _ = plan["tensors"][value["t"]]
            return {"tensor": [dtype, sizes, strides]}
        return [describe(item) for item in value] if isinstance(value, list) else value

    return [describe(value) for value in values]


def record_case(name: str) -> None:
    source, candidates, notes = CASES[name]
    reference = in_child({"role": "reference", "source": source, "entry": "Model", "kind": "class"})
    case = {"reference": reference, "notes": notes, "candidates": []}
    for candidate in candidates:
        request = {"role": "candidate", "source": candidate.source, "entry": "ModelNew", "kind": "class",
                   "init_inputs": descriptors(reference, reference["init_inputs"]),
                   "inputs": descriptors(reference, reference["inputs"])}
        print(f"{name}/{candidate.name}", flush=True)
        case["candidates"].append({"name": candidate.name, "plan": in_child(request), "verdict": candidate.verdict,
                                   "rule": candidate.rule, "waive": candidate.waive, "strict": candidate.strict})
    (FOLDER / f"{name}.msgpack").write_bytes(msgpack.packb(case))


if __name__ == "__main__":
    recorder.warm_up()
    for name in sys.argv[1:] or CASES:
        record_case(name)
