"""Python in processes of their own that need not import torch first, which takes longer than most of what tests run in them.

Each is forked from one process that has imported torch and done nothing else. Triton is not imported: a process may still choose how it
runs (TRITON_INTERPRET).
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# A child leaves the loop and goes on as the interpreter's main program, so that errors end it as they do any other. Without one it is over
# at once: what the interpreter tidies up at its end takes half a second where torch is.
_FORKS = """
import json, os, signal, sys, torch
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
else:
    sys.exit()
code, sys.argv, sys.path[0], folder, said, seconds = json.loads(line)
signal.alarm(seconds)
os.chdir(folder)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for descriptor in (1, 2):
    os.dup2(os.open(said, os.O_WRONLY | os.O_APPEND), descriptor)
exec(compile(code, "<test>", "exec"), vars())
sys.stdout.flush()
os._exit(0)
"""


@functools.cache
def _forks() -> subprocess.Popen:
    """It ends when its stdin does, that is with this process."""
    return subprocess.Popen([sys.executable, "-c", _FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(code: str, folder: os.PathLike, *arguments: object, first_path: str = "", seconds: int = 120) -> tuple[int, str]:
    """As `python -c` in a folder: its exit code (negative: the signal), and what it printed, errors too."""
    with tempfile.NamedTemporaryFile("r") as said:
        request = [code, ["-c", *map(str, arguments)], first_path, str(folder), said.name, seconds]
        _forks().stdin.write(json.dumps(request) + "\n")
        _forks().stdin.flush()
        return int(_forks().stdout.readline()), said.read()


def run_file(file: pathlib.Path, *arguments: object) -> tuple[int, str]:
    code = f"import runpy\nrunpy.run_path({str(file)!r}, run_name='__main__')"
    return run(code, pathlib.Path.cwd(), *arguments, first_path=str(file.parent))
