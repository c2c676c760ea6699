"""Judges that keep a GPU between jobs with large tensors: verdicts stay the same, and others get their turns.

Needs a GPU with 64 GB: TRITOGEN_DEVICE=cuda pytest tests/e2e/test_gpu_turn.py
"""

import os
import subprocess
import sys
import threading
import time

import pytest

from . import programs
from .conftest import ROOT

pytestmark = pytest.mark.skipif(os.environ.get("TRITOGEN_DEVICE") != "cuda", reason="needs a GPU")

OPTIONS = ("--device", "cuda", "--no-cache", "--samples", "10")
LARGE = programs.REFERENCE.replace("16, 100", "65536, 16384")  # 4 GiB
OTHER = LARGE.replace("torch.relu(x) * 2.0", "torch.relu(-x) * 2.0")
RIGHT, WRONG = programs.candidate(), programs.candidate().replace("* 2.0", "* 2.001")
GREEDY = programs.candidate("y = torch.zeros(14, *x.shape, device=x.device)\nx = x + y[0]")  # 56 GiB more


@pytest.fixture
def turn():
    sys.path.insert(0, str(ROOT / "worker"))
    from gpu_turn import GpuTurn

    names = subprocess.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"], capture_output=True, text=True)
    return GpuTurn(names.stdout.split()[0])


def test_what_was_judged_before_changes_no_verdict(judge):
    kinds = {"right": (LARGE, RIGHT), "wrong": (LARGE, WRONG), "greedy": (LARGE, GREEDY), "other": (OTHER, RIGHT)}
    alone = {}
    for kind, pair in kinds.items():
        verdict = judge({kind: pair}, *OPTIONS)[kind]
        alone[kind] = (verdict["verdict"], verdict["rule"])
    assert alone["right"][0] == "passed" and alone["wrong"][0] == "wrong_values"
    order = ["right", "right", "greedy", "right", "wrong", "right", "wrong", "other", "right", "greedy", "greedy"]
    verdicts = judge({f"{i}_{kind}": kinds[kind] for i, kind in enumerate(order)}, *OPTIONS)
    for name, verdict in verdicts.items():
        assert (verdict["verdict"], verdict["rule"]) == alone[name.partition("_")[2]], (name, verdict)


def test_who_loses_the_gpu_takes_no_memory_from_the_next(judge):
    task = LARGE.replace("65536", "131072")  # 8 GiB
    wide = RIGHT.replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)")
    lost = wide.replace("tl.store(out_ptr + i", "tl.store(out_ptr + (i + (1 << 40))")
    pairs = {f"{i}_{kind}": (task.replace("* 2.0", f"* {2 + i}.0"), text.replace("* 2.0", f"* {2 + i}.0"))
             for i in range(2) for kind, text in (("lost", lost), ("right", wide))}  # fmt: skip
    verdicts = judge(pairs, *OPTIONS)
    for name, verdict in verdicts.items():
        assert verdict["verdict"] == ("passed" if "right" in name else "memory_error"), (name, verdict)


@pytest.mark.parametrize("share, put_aside", [(0.045, False), (0.08, True)])
def test_timed_answers_leave_the_gpu_only_where_there_is_no_room(judge, share, put_aside):
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    mebibytes = int(subprocess.run(query, capture_output=True, text=True).stdout.split()[0])
    task = programs.REFERENCE.replace("16, 100", f"{int(mebibytes * share) * 16}, 16384")  # rows of 64 KiB
    wide = RIGHT.replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)")
    verdict = judge({"large": (task, wide)}, *OPTIONS)["large"]
    assert verdict["verdict"] == "passed", verdict
    assert ("timing: answers put aside" in verdict["stages"]) == put_aside


def test_others_get_their_turns(judge, turn):
    waits, done = [], threading.Event()

    def take_turns():
        while not done.wait(0.05):
            start = time.monotonic()
            with turn.alone():
                waits.append(time.monotonic() - start)

    other = threading.Thread(target=take_turns)
    other.start()
    try:
        verdicts = judge({str(i): (LARGE, RIGHT) for i in range(6)}, *OPTIONS)
    finally:
        done.set()
        other.join()
    assert [verdict["verdict"] for verdict in verdicts.values()] == ["passed"] * 6
    longest = max(verdict["seconds"] for verdict in verdicts.values())
    assert max(waits) < longest + 1, (longest, waits)
    start = time.monotonic()
    with turn.alone():
        assert time.monotonic() - start < 0.1
