"""Where a child's memory comes from. Each test forks: what it does to the heap stays in the child."""

from __future__ import annotations

import os
from collections.abc import Callable

import huge_pages
import pytest

libc = huge_pages._libc
pytestmark = pytest.mark.skipif(not hasattr(libc, "mallinfo2"), reason="another C library, or an old one")


def in_child(check: Callable[[], bool]) -> bool:
    pid = os.fork()
    if pid == 0:
        result = False
        try:
            result = check()
        finally:
            os._exit(0 if result else 1)
    return os.waitpid(pid, 0)[1] == 0


def test_filled_holes_are_not_handed_out() -> None:
    def check() -> bool:
        blocks = [libc.malloc(3000) for _ in range(200)]
        libc.free.argtypes = [huge_pages.ctypes.c_size_t]
        for block in blocks[::2]:
            libc.free(block)
        huge_pages.fill_holes()
        return not set(blocks[::2]) & {libc.malloc(size) for size in range(2000, 3000) for _ in range(5)}

    assert in_child(check)


def test_a_child_starts_behind_the_shared_heap() -> None:
    def check() -> bool:
        end = libc.sbrk(0)
        huge_pages.fill_holes()
        huge_pages.leave_shared_top()
        return libc.malloc(5000) >= end

    assert in_child(check)
