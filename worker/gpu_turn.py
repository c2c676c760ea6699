"""How the processes of this machine share one GPU: the protocol of TurnLock (src/device/turn_lock.h) for Python.

Python's work runs side by side under a shared turn; a measurement, and each replay of C++, has the GPU alone.
Who wants it alone holds the gate while waiting, so that nobody slips in before.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

_LOCKS = "/tmp"


def _open_lock(path: str) -> int:
    """A file that everybody may lock, made by whoever comes first."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)  # with O_CREAT, a file of somebody else in /tmp cannot be opened
    except FileNotFoundError:
        lock = os.open(path, flags | os.O_CREAT, 0o444)
    with contextlib.suppress(PermissionError):  # another user made it just now
        os.fchmod(lock, 0o444)
    return lock


class GpuTurn:
    """One process's turns on the GPU with this UUID ("GPU-8a1f…"). Not thread-safe. Nothing is held at first."""

    def __init__(self, uuid: str, folder: str = _LOCKS) -> None:
        self._gate, self._lock = (_open_lock(f"{folder}/tritogen-{uuid}.{name}") for name in ("gate", "lock"))
        self._held = fcntl.LOCK_UN

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        with self._as(fcntl.LOCK_SH):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._as(fcntl.LOCK_EX):
            yield

    @contextlib.contextmanager
    def without(self) -> Iterator[None]:
        """A pause inside a turn: the block does not use the GPU."""
        with self._as(fcntl.LOCK_UN):
            yield

    @contextlib.contextmanager
    def _as(self, wanted: int) -> Iterator[None]:
        before = self._held
        self._change(wanted)
        try:
            yield
        finally:
            self._change(before)

    def _change(self, wanted: int) -> None:
        if wanted == self._held:
            return
        if (self._held, wanted) == (fcntl.LOCK_EX, fcntl.LOCK_SH):
            fcntl.flock(self._lock, wanted)  # from exclusive to shared: no need to wait
        else:
            fcntl.flock(self._lock, fcntl.LOCK_UN)  # two that would not let go wait for each other
            if wanted != fcntl.LOCK_UN:
                fcntl.flock(self._gate, fcntl.LOCK_EX)
                fcntl.flock(self._lock, wanted)
                fcntl.flock(self._gate, fcntl.LOCK_UN)
        self._held = wanted
