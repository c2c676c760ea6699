"""A GPU whose memory others hold: no verdict holds it against a candidate, no judge takes others along.

Needs a GPU that is otherwise idle: TRITOGEN_DEVICE=cuda pytest tests/e2e/test_gpu_memory.py
"""

import contextlib
import os
import subprocess
import sys

import pytest

from . import programs

pytestmark = pytest.mark.skipif(os.environ.get("TRITOGEN_DEVICE") != "cuda", reason="needs a GPU")

HOLD = """
import sys, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - int(sys.argv[1]) * 2**20, dtype=torch.uint8, device="cuda")
print("held", flush=True)
sys.stdin.read()
"""
TASK = programs.REFERENCE.replace("16, 100", "1024, 4096")  # 16 MiB
RIGHT, WRONG = programs.candidate(), programs.candidate().replace("* 2.0", "* 2.001")


@contextlib.contextmanager
def crowded(mebibytes: int):
    """Another process leaves so much of the memory free."""
    command = [sys.executable, "-c", HOLD, str(mebibytes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield
        process.stdin.close()


@pytest.mark.parametrize("mebibytes", [300, 1200, 1800, 2400, 3200, 4500])
def test_want_of_memory_is_no_candidates_fault(judge, mebibytes):
    pairs = {f"{i}_{kind}": (TASK.replace("* 2.0", f"* {2 + i}.0"), text.replace("* 2.0", f"* {2 + i}.0"))
             for i in range(6) for kind, text in (("right", RIGHT), ("wrong", WRONG))}  # fmt: skip
    with crowded(mebibytes):
        verdicts = judge(pairs, "--device", "cuda", "--no-cache")
    assert len(verdicts) == len(pairs)
    for name, verdict in verdicts.items():
        allowed = {"passed", "infra_error"} if "right" in name else {"wrong_values", "infra_error"}
        assert verdict["verdict"] in allowed, (name, verdict)
        assert "\n" not in verdict["reason"], verdict["reason"]
        if verdict["verdict"] == "infra_error":
            assert "memory" in verdict["reason"], verdict["reason"]
    if mebibytes >= 4500:
        assert {verdict["verdict"] for verdict in verdicts.values()} == {"passed", "wrong_values"}
