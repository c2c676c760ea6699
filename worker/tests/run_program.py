"""Stands in for compile.py in the tests of its jail: tries what a taken-over compiler would try."""

import os
import socket
import subprocess
import sys
import threading

from compile import PROGRAMS  # noqa: F401


def _attempt(action) -> str:
    try:
        action()
    except (OSError, RuntimeError) as error:
        return type(error).__name__
    return "worked"


def _thread() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def record(request: dict) -> dict:
    own_program = os.path.join(os.getcwd(), "program")
    with open(PROGRAMS[0], "rb") as source, open(own_program, "wb") as copy:
        copy.write(source.read(1 << 20))
    os_run = lambda *command: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: E731
    return {
        "assembler": _attempt(lambda: os_run(PROGRAMS[0], "--version")),
        "interpreter": _attempt(lambda: os_run(sys.executable, "-c", "0")),
        "own program": _attempt(lambda: os_run(own_program)),
        "fork": _attempt(os.fork),
        "thread": _attempt(_thread),
        "socket": _attempt(socket.socket),
        "write outside": _attempt(lambda: open(__file__, "a")),
        "kill": _attempt(lambda: os.kill(os.getppid() or 1, 9)),
    }
