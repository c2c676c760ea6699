"""The recorder is warmed once for the whole run; it patches torch for this process, for good."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    import record

    record.warm_up()
