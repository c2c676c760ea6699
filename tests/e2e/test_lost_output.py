"""Output that nobody can keep is no success."""

import os
import subprocess
import sys

import pytest

from . import programs
from .conftest import BINARY, ROOT


COMMANDS = [
    ("program", "relu.py"), ("program", "--operators"), ("synth", "--count", "1"), ("synth", "--count", "200"),
    ("data", "show", ROOT / "examples/data_small", "0"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_told(tmp_path, command):
    (tmp_path / "relu.py").write_text(programs.REFERENCE)
    environment = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable}
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, *command], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120,
                              env=environment)  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "is the disk full" in done.stderr
