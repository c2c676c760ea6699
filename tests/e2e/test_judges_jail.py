"""Judges at work are in their jail: each of their threads, on a GPU too (TRITOGEN_DEVICE=cuda)."""

import json
import os
import pathlib
import subprocess
import sys

from . import programs
from .conftest import BINARY, ROOT


def status_of(task: pathlib.Path) -> dict[str, str]:
    lines = (line.split(":", 1) for line in (task / "status").read_text().splitlines())
    return {name: value.strip() for name, value in lines}


def children(pid: int) -> list[pathlib.Path]:
    """That run this program: its other children are workers."""
    pids = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    binary = os.path.realpath(f"/proc/{pid}/exe")
    return [pathlib.Path("/proc", child) for child in pids if os.path.realpath(f"/proc/{child}/exe") == binary]


def test_judges_at_work_may_do_little(tmp_path):
    device = os.environ.get("TRITOGEN_DEVICE", "cpu")
    environment = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable, "TRITOGEN_CACHE": str(tmp_path)}
    command = [str(BINARY), "verify", "--batch", "-", "--device", device, "--no-cache"]
    line = json.dumps({"id": "job", "reference": programs.REFERENCE, "candidate": programs.candidate()})
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["verdict"] == "passed"
        judges = children(process.pid)
        assert judges
        for task in (task for judge in judges for task in (judge / "task").iterdir()):
            status = status_of(task)
            assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1"), f"{status['Name']} of {task}"
        for judge in judges:
            assert os.readlink(judge / "fd/1") == "/dev/null"
            assert not [fd for fd in (judge / "fd").iterdir() if "sqlite" in os.readlink(fd)]
        process.stdin.close()
        assert process.wait(60) == 0
