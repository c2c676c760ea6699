"""These tests import Triton in interpreter mode, so they run in a process of their own: `pytest tests/teacher`."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("TEACH_FILE", str(ROOT / "build/release/teach_file"))
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # blocks are small: more threads only wait for each other
    os.environ.setdefault(threads, "1")
sys.path.insert(0, os.path.dirname(__file__))

import interpreter  # noqa: E402,F401  before anybody imports Triton
