"""The clock of src/cuda/timer.h for programs of real PyTorch: the same order of samples, the same stopping rule, the
same statistics (src/cuda/interleave.cc, statistics.cc), and on a GPU a cold L2 before each sample, too.

Trusted: never used beside a candidate's code.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

_Z = 2.5758  # 99%
_ROUNDS_BETWEEN_CHECKS = 5
_SPARSE_ROUNDS = 5  # of which a program takes part in one that others are compared with and whose median is known
_SHORT_WINDOW = 2
_PERSISTING_L2_LIMIT = 6  # CU_LIMIT_PERSISTING_L2_CACHE_SIZE
_HEAD_START_CYCLES = 400_000  # about 0.2 ms: Python needs less to put a sample on the stream


@dataclass(frozen=True)
class Options:
    """As cuda::TimingOptions."""

    min_samples: int = 100
    max_samples: int = 1000
    target_error: float = 0.002
    budget_seconds: float = 1.0
    enough_samples: int = 20
    warmup_window: int = 5
    warmup_tolerance: float = 0.01
    long_sample: float = 1000.0  # microseconds
    max_warmup_samples: int = 50

    def brief(self) -> Options:
        """For a second method, beside the one that counts, as in src/verify/timings.cc."""
        few = min(self.min_samples, 5)
        quarter = self.budget_seconds / 4
        return replace(self, min_samples=few, max_samples=20, max_warmup_samples=1, budget_seconds=quarter)


@dataclass
class Timing:
    """Times of one program in microseconds, in the order in which they were taken."""

    samples: list[float] = field(default_factory=list)
    warmup_samples: int = 0
    stable: bool = False

    def to_json(self) -> dict[str, Any]:
        ordered = sorted(self.samples)
        return {
            "median_us": _quantile(ordered, 0.5),
            "q1_us": _quantile(ordered, 0.25),
            "q3_us": _quantile(ordered, 0.75),
            "samples_us": self.samples,
            "warmup_samples": self.warmup_samples,
            "stable": self.stable,
        }


def median(samples: Sequence[float]) -> float:
    return _quantile(sorted(samples), 0.5)


def standard_error_of_median(samples: Sequence[float]) -> float:
    """McKean and Schrader 1984, as in statistics.h."""
    ordered = sorted(samples)
    n = len(ordered)
    c = int(max(1.0, _round((n + 1) / 2 - _Z * (n / 4) ** 0.5)))
    return (ordered[n - c] - ordered[c - 1]) / (2 * _Z)


def interleave(
    programs: int,
    options: Options,
    take_sample: Callable[[int], float],
    seconds: Callable[[], float] = time.monotonic,
) -> list[Timing]:
    """Warms up, then takes rounds A B … B A until the options say enough. `take_sample(i)` gives microseconds."""
    start = seconds()
    spent = lambda: seconds() - start
    timings = _warm_up(programs, options, take_sample, lambda: spent() > options.budget_seconds / 2)
    known = [False] * programs
    for count in range(options.max_samples):
        there = range(programs)
        for i in there if count % 2 == 0 else reversed(there):
            if i == 0 or not known[i] or count < options.enough_samples or count % _SPARSE_ROUNDS == 0:
                timings[i].samples.append(take_sample(i))
        enough = count + 1 >= options.min_samples
        if enough and spent() > options.budget_seconds:
            break
        if (count + 1) % _ROUNDS_BETWEEN_CHECKS == 0:
            known = [_known(timing.samples, options.target_error) for timing in timings]
            if enough and all(known):
                break
    return timings


class CpuClock:
    """Wall clock and warm caches: for rehearsals and tests, not for results."""

    def sample(self, run: Callable[[], Any], head_start: bool) -> float:
        start = time.perf_counter()
        run()
        return 1e6 * (time.perf_counter() - start)


class CudaClock:
    """A sample: persisting lines reset, the L2 filled with clean lines, event, run, event. Current device and stream.

    With a head start the GPU waits for the host before the first event, so that the time is the GPU's alone. That is
    for programs that are one call of the driver, like a graph; cuda::Timer's host is quicker than its flush.
    """

    def __init__(self) -> None:
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self._buffer = torch.empty(2 * properties.L2_cache_size // 4, dtype=torch.float32, device="cuda")
        self._sum = torch.empty((), dtype=torch.float32, device="cuda")
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuCtxSetLimit(ctypes.c_int(_PERSISTING_L2_LIMIT), ctypes.c_size_t(0))  # refused on a MIG slice: zero there
        self._reset_persisting = driver.cuCtxResetPersistingL2Cache
        self._persisting = self._reset_persisting() == 0  # no device before sm_80 has such lines

    def sample(self, run: Callable[[], Any], head_start: bool) -> float:
        if self._persisting:
            self._reset_persisting()
        self._buffer.zero_()
        torch.sum(self._buffer, dim=0, out=self._sum)  # reads all of it: the lines that stay are clean
        if head_start:
            torch.cuda._sleep(_HEAD_START_CYCLES)
        self._start.record()
        run()
        self._end.record()
        self._end.synchronize()
        return 1e3 * self._start.elapsed_time(self._end)


def _warm_up(
    programs: int, options: Options, take_sample: Callable[[int], float], late: Callable[[], bool]
) -> list[Timing]:
    seen: list[list[float]] = [[] for _ in range(programs)]
    stable = [False] * programs
    while len(seen[0]) < options.max_warmup_samples and not all(stable) and not (seen[0] and late()):
        there = range(programs)
        for i in there if len(seen[0]) % 2 == 0 else reversed(there):
            seen[i].append(take_sample(i))
            is_long = seen[i][0] > options.long_sample
            window = min(options.warmup_window, _SHORT_WINDOW) if is_long else options.warmup_window
            stable[i] = _stands_still(seen[i], window, options.warmup_tolerance)
    return [Timing([], len(samples), still) for samples, still in zip(seen, stable)]


def _stands_still(samples: list[float], window: int, tolerance: float) -> bool:
    if len(samples) < 2 * window:
        return False
    now, before = median(samples[-window:]), median(samples[-2 * window : -window])
    return abs(now - before) <= tolerance * before


def _known(samples: list[float], target_error: float) -> bool:
    return standard_error_of_median(samples) <= target_error * median(samples)


def _quantile(ordered: list[float], share: float) -> float:
    rank = share * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])


def _round(value: float) -> float:
    """To the nearest, halves away from zero, as C does."""
    return float(int(value + 0.5)) if value >= 0 else -float(int(-value + 0.5))
