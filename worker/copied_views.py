"""Views that a split recording has as copies."""

from __future__ import annotations

from guards import reject


class CopiedViews:
    """Storages that are copies where PyTorch has views: parts of an operator may only read by computed places. Such a
    copy cannot take a write to the view, nor show what its base holds later on."""

    def __init__(self) -> None:
        self._base_of: dict[int, int] = {}
        self._stale: set[int] = set()

    def made(self, copy: int, base: int) -> None:
        if copy != base:
            self._base_of[copy] = base

    def check(self, used: set[int], written: set[int]) -> None:
        if (written & self._base_of.keys()) or (used & self._stale):
            reject("split", "a view that is written, or whose base is, cannot be recorded as a copy")
        self._stale |= {copy for copy, base in self._base_of.items() if base in written}
