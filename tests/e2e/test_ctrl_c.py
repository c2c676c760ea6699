"""Ctrl-C while Python gets warm ends a command with the exit code that shells give it, and prints nobody's insides."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from . import programs
from .conftest import BINARY, ROOT

COMMANDS = [
    ("convert", "relu.py", "--proposer", "teacher", "--device", "cpu"),
    ("eval", "--proposer", "teacher", "--level", "1", "--count", "1", "-n", "1", "--device", "cpu"),
]


def children(pid: int) -> bool:
    return bool(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("seconds", [0.05, 0.8], ids=str)  # Python starts; it imports PyTorch
def test_while_python_gets_warm(tmp_path, command, seconds):
    (tmp_path / "relu.py").write_text(programs.REFERENCE)
    environment = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable, "TRITOGEN_CACHE": str(tmp_path)}
    process = subprocess.Popen([BINARY, *command], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)  # fmt: skip
    while process.poll() is None and not children(process.pid):
        time.sleep(0.01)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it to all
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert "Traceback" not in err and "worker" not in err, err
