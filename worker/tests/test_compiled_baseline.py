"""torch.compile as a baseline: order and statistics of samples, turns on the GPU, and the whole script on a CPU."""

from __future__ import annotations

import fcntl
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import clock
from gpu_turn import GpuTurn

SCRIPT = Path(__file__).resolve().parent.parent / "compiled_baseline.py"


class Ticks:
    """Samples by program, and a wall clock that each of them moves by its own microseconds."""

    def __init__(self, *programs: list[float]) -> None:
        self.programs = [iter(samples) for samples in programs]
        self.order: list[int] = []
        self.now = 0.0

    def take(self, i: int) -> float:
        self.order.append(i)
        sample = next(self.programs[i])
        self.now += 1e-6 * sample
        return sample


def test_programs_take_turns_forth_and_back() -> None:
    ticks = Ticks([10.0] * 100, [20.0] * 100)
    options = clock.Options(min_samples=7, max_samples=7, max_warmup_samples=0)
    timings = clock.interleave(2, options, ticks.take, lambda: ticks.now)
    assert ticks.order == [0, 1, 1, 0] * 3 + [0, 1]
    assert [len(timing.samples) for timing in timings] == [7, 7]


def test_warm_up_ends_when_all_stand_still_and_is_not_counted() -> None:
    ticks = Ticks([90.0, 50.0, 30.0] + [10.0] * 200, [20.0] * 203)
    options = clock.Options(min_samples=5, max_samples=5, warmup_window=3)
    slow, steady = clock.interleave(2, options, ticks.take, lambda: ticks.now)
    assert slow.stable and steady.stable
    assert slow.warmup_samples == 8  # six of ten, since the median of the window before may still hold two slow ones
    assert slow.samples == [10.0] * 5


# Programs, samples and figures of the tests of src/cuda/interleave.cc (timing_test.cc).
def test_the_rule_is_that_of_the_timer_of_candidates() -> None:
    def sizes(options: clock.Options, *programs: list[float]) -> list[tuple[int, int]]:
        timings = clock.interleave(len(programs), options, Ticks(*programs).take, lambda: 0.0)
        return [(timing.warmup_samples, len(timing.samples)) for timing in timings]

    few = clock.Options(min_samples=3, max_samples=3)
    assert sizes(few, [0.001] * 99, [5000.0] * 99) == [(10, 3), (10, 3)]  # as long as any needs
    assert sizes(few, [5000.0] * 99) == [(4, 3)]
    many = clock.Options(min_samples=100)
    assert sizes(many, [10.0] * 999, [10.0] * 999) == [(10, 100), (10, 36)]  # 20, then every fifth of 80
    noise = random.Random(1)
    unknown = [noise.expovariate(0.01) for _ in range(1100)]
    assert sizes(many, [10.0] * 1100, unknown) == [(50, 1000), (50, 1000)]


def test_known_medians_end_the_measurement_and_noise_uses_the_time() -> None:
    options = clock.Options(min_samples=10, max_samples=1000, max_warmup_samples=0, budget_seconds=1.0)
    known = clock.interleave(1, options, Ticks([10.0] * 1000).take, lambda: 0.0)
    noisy = clock.interleave(1, options, Ticks([10.0, 30.0] * 500).take, lambda: 0.0)
    assert len(known[0].samples) == 10
    assert len(noisy[0].samples) == 1000


def test_late_measurements_still_take_the_least_number() -> None:
    ticks = Ticks([2e6] * 100)
    options = clock.Options(min_samples=12, max_samples=50, budget_seconds=1.0)
    (timing,) = clock.interleave(1, options, ticks.take, lambda: ticks.now)
    assert len(timing.samples) == 12
    assert timing.warmup_samples == 1


def test_quartiles_are_those_of_the_statistics_module() -> None:
    samples = [7.0, 1.0, 4.0, 9.0, 2.0, 8.0]
    report = clock.Timing(samples).to_json()
    quartiles = statistics.quantiles(samples, n=4, method="inclusive")
    assert [report["q1_us"], report["median_us"], report["q3_us"]] == pytest.approx(quartiles)
    assert report["samples_us"] == samples


def test_standard_error_follows_mckean_and_schrader() -> None:
    samples = [float(i) for i in range(1, 101)]  # c = round(50.5 - 2.5758 * 5) = 38: (x[63] - x[38]) / (2 * 2.5758)
    assert clock.standard_error_of_median(samples) == pytest.approx(25 / (2 * 2.5758))


def free(path: Path, operation: int) -> bool:
    """Whether somebody else could take this lock now."""
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, operation | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def test_turns_hold_the_lock_and_let_go_of_the_gate(tmp_path: Path) -> None:
    turn = GpuTurn("GPU-test", str(tmp_path))
    gate, lock = tmp_path / "tritogen-GPU-test.gate", tmp_path / "tritogen-GPU-test.lock"
    with turn.shared():
        assert free(lock, fcntl.LOCK_SH) and not free(lock, fcntl.LOCK_EX)
        with turn.without():
            assert free(lock, fcntl.LOCK_EX)
        with turn.alone():
            assert not free(lock, fcntl.LOCK_SH) and free(gate, fcntl.LOCK_EX)
        assert free(lock, fcntl.LOCK_SH) and not free(lock, fcntl.LOCK_EX)
    assert free(lock, fcntl.LOCK_EX) and free(gate, fcntl.LOCK_EX)


def test_who_wants_the_gpu_alone_waits_for_others(tmp_path: Path) -> None:
    holder = GpuTurn("GPU-test", str(tmp_path))
    program = f"from gpu_turn import GpuTurn\nwith GpuTurn('GPU-test', {str(tmp_path)!r}).alone(): print('alone')"
    with holder.shared():
        waiting = subprocess.Popen([sys.executable, "-c", program], cwd=SCRIPT.parent, stdout=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.communicate(timeout=0.5)
    assert waiting.communicate(timeout=20)[0] == b"alone\n"


def test_every_user_may_lock_what_the_first_one_made(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        GpuTurn("GPU-test", str(tmp_path))
    finally:
        os.umask(before)
    for name in ("gate", "lock"):
        assert (tmp_path / f"tritogen-GPU-test.{name}").stat().st_mode & 0o777 == 0o444


def run(tmp_path: Path, source: str, entry: str, *options: str, stdin: str = "") -> dict:
    file = tmp_path / "reference.py"
    file.write_text(source)
    arguments = [str(file), entry, "--device", "cpu", "--backend", "eager", "--samples", "5", "--seconds", "0.05"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments, *options], input=stdin, capture_output=True, text=True, timeout=120
    )
    return json.loads(done.stdout) if done.stdout else {"ended": done.returncode}


MODEL = """
import torch
print("reading the file")
class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(n))
    def forward(self, x):
        print("noise")
        x.mul_(2)  # grows to infinity unless it is put back before each call
        return x * self.weight
def get_inputs(): return [torch.full((4, 8), 1e30)]
def get_init_inputs(): return [8]
"""


def test_a_class_is_timed_eager_and_compiled(tmp_path: Path) -> None:
    answer = run(tmp_path, MODEL, "Model", "--wait", stdin="\n")
    assert answer["difference"] is None
    assert answer["graph"] is None
    assert set(answer["plain"]) == {"eager fp32", "torch.compile"}
    for times in answer["plain"].values():
        assert len(times["samples_us"]) >= 5 and times["q1_us"] <= times["median_us"] <= times["q3_us"]
    assert answer["torch"] and answer["triton"] and answer["compile_seconds"] > 0


def test_under_a_tf32_contract_both_programs_may_use_it(tmp_path: Path) -> None:
    source = MODEL.replace("x.mul_(2)", "assert torch.backends.cuda.matmul.allow_tf32; x.mul_(2)")
    answer = run(tmp_path, source, "Model", "--fp32-precision", "tf32")
    assert answer["eager"] == "eager tf32" and set(answer["plain"]) == {"eager tf32", "torch.compile"}


def test_under_pytorchs_own_contract_convolutions_alone_may_use_it(tmp_path: Path) -> None:
    flags = "torch.backends.cudnn.allow_tf32 and not torch.backends.cuda.matmul.allow_tf32"
    answer = run(tmp_path, MODEL.replace("x.mul_(2)", f"assert {flags}; x.mul_(2)"), "Model", "--fp32-precision", "pytorch")
    assert answer["eager"] == "eager pytorch" and set(answer["plain"]) == {"eager pytorch", "torch.compile"}


def test_each_call_starts_with_the_same_hidden_state(tmp_path: Path) -> None:
    source = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.ones(8)
    def forward(self, x):
        self.hidden = 2 * self.hidden + x
        return self.hidden
def get_inputs(): return [torch.ones(8)]
"""
    assert run(tmp_path, source, "Model")["difference"] is None


def test_it_ends_when_its_caller_does(tmp_path: Path) -> None:
    assert run(tmp_path, MODEL, "Model", "--wait") == {"ended": 0}


def test_a_function_that_draws_random_numbers_is_not_compared(tmp_path: Path) -> None:
    source = "import torch\ndef f(x): return torch.nn.functional.dropout(x)\ndef get_inputs(): return [torch.ones(64)]\n"
    answer = run(tmp_path, source, "f", "--function")
    assert "random" in answer["difference"] and answer["plain"]


def test_a_failing_reference_is_a_reason(tmp_path: Path) -> None:
    source = "def f(x): raise ValueError('no luck')\ndef get_inputs(): return [1]\n"
    assert run(tmp_path, source, "f", "--function") == {
        "error": "could not run it in eager PyTorch: ValueError: no luck"
    }
