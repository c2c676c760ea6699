"""Synthetic programs in real PyTorch: each runs on meta tensors and gives the shapes that it states; small ones run
with data. By hand, for more: SYNTH_COUNT=20000 pytest tests/synth, or
    python tests/synth/test_programs.py FILE.jsonl
"""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import warnings

import pytest
import torch

warnings.filterwarnings("ignore", category=UserWarning)  # PyTorch's advice on losses
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TRITOGEN_BINARY", str(ROOT / "build/release/tritogen"))
COUNT = int(os.environ.get("SYNTH_COUNT", "60"))
DTYPES = {"float32": torch.float32, "int64": torch.int64, "bool": torch.bool}


def synth(*arguments):
    return subprocess.run([BINARY, "synth", *map(str, arguments)], capture_output=True, text=True)


def programs(*arguments):
    done = synth(*arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def tensor(description, device):
    dtype, shape = DTYPES[description["dtype"]], description["shape"]
    if device == "meta":
        return torch.empty(shape, dtype=dtype, device="meta")
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if "below" in description:
        return torch.randint(0, max(1, int(description["below"])), shape)
    if dtype == torch.int64:
        return torch.randint(int(description.get("low", -8)), int(description.get("high", 8)) + 1, shape)
    low = description.get("low", min(-2.0, description.get("high", 2.0) - 4))
    high = description.get("high", max(2.0, low + 4))
    values = torch.rand(shape) * (high - low) + low
    if description.get("nonzero"):
        values = torch.where(values.abs() < 0.1, torch.full_like(values, 0.5), values)
    return values


def check(record, device):
    """Runs the program; every result must have the shape and dtype in its comment."""
    space = {}
    exec(record["program"], space)
    outputs = space["program"](*[tensor(i, device) for i in record["inputs"]])
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    got = [{"dtype": str(o.dtype).removeprefix("torch."), "shape": list(o.shape)} for o in outputs]
    assert got == record["outputs"], record["program"]
    return outputs


def slow(record):
    """PyTorch's meta kernels of recurrent networks go through the sequence step by step."""
    recurrent = {"lstm", "gru", "rnn_tanh", "rnn_relu"} & set(record["ops"])
    return recurrent and max(size for i in record["inputs"] for size in i["shape"] + [1]) > 64


def small(record):
    return record["flops"] < 1e7 and record["bytes"] < 1e7


@pytest.mark.parametrize("level, options", [(1, []), (3, []), (8, []), (20, []), (1, ["--as-modules", 0.6]), (8, ["--as-modules", 0.6])])
def test_programs_are_valid_pytorch(level, options):
    records = programs("--level", level, "--count", COUNT, "--seed", level, *options)
    assert len(records) == COUNT
    for record in records:
        assert record["level"] == level
        if not slow(record):
            check(record, "meta")


@pytest.mark.parametrize("options", [[], ["--as-modules", 0.5], ["--as-modules", 0.7, "--sizes", "1..9999", "--sizes-per-graph", 24]])
def test_small_programs_run(options):
    records = programs("--level", 2, "--count", COUNT, "--seed", 5, "--max-elements", 10000, *options)
    ran = [record for record in records if small(record) and not slow(record)]
    assert len(ran) > COUNT / 4
    for record in ran:
        check(record, "cpu")


def test_options_are_kept():
    records = programs("--level", 2, "--count", 50, "--seed", 6, "--ops", "matmul,relu", "--sizes", "16,32",
                       "--max-flops", 100000)
    for record in records:
        assert set(record["ops"]) <= {"matmul", "relu"}
        assert record["flops"] <= 100000
        assert {size for i in record["inputs"] for size in i["shape"]} <= {16, 32}


def test_the_operator_all_has_a_name_of_its_own():
    """`all` means every operator."""
    assert {op for record in programs("--ops", "all.default", "--count", 5) for op in record["ops"]} == {"all"}


@pytest.mark.parametrize("arguments, words", [
    (["--level", "0"], "level"),
    (["--ops", "no_such_operator"], "no operator 'no_such_operator' (./tritogen program --operators"),
    (["--ops", "rellu"], "did you mean 'relu'?"),
    (["--max-elements", "-1"], "no number above 0"),
    (["--min-flops", "-1"], "no number of 0 or more"),
    (["--sizes", "4..2"], "no set of sizes"),
    (["--ops", "relu", "--sizes", "1", "--min-elements", "5"], "no sizes that fit"),
    (["--out", "/no/such/folder/x.jsonl"], "/no/such/folder"),
    (["--avoid", "/no/such/file"], "/no/such/file"),
    (["--explain", "h = relu(x)"], "needs a rank"),
    (["--explain", "h = (x:2)"], "no operator"),
])
def test_wrong_use_is_said(arguments, words):
    done = synth(*arguments)
    assert done.returncode == 2
    assert words in done.stderr, done.stderr
    assert "fault of Tritogen" not in done.stderr


def test_a_full_disk_leaves_nothing(tmp_path):
    """A limit on the size of files stands for the full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    out = tmp_path / "programs.jsonl"
    done = subprocess.run([BINARY, "synth", "--count", "50", "--out", str(out)], capture_output=True, text=True,
                          preexec_fn=limit)
    assert done.returncode == 2 and "programs.jsonl" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_explain_counts():
    done = synth("--sizes", "1..4", "--explain", "h = matmul(x:2, w:2); relu(h)")
    assert done.returncode == 0, done.stderr
    assert re.search(r"Solutions: 64 \(exact\)", done.stdout), done.stdout


if __name__ == "__main__":
    failed = total = ran = left_out = 0
    for line in open(sys.argv[1]):
        record = json.loads(line)
        if slow(record):
            left_out += 1
            continue
        total += 1
        try:
            check(record, "meta")
            if len(sys.argv) > 2 and small(record) and record["flops"] < 1e6:
                check(record, "cpu")
                ran += 1
        except Exception as error:  # every failure is reported, whatever it is
            failed += 1
            if failed <= 20:
                print(f"{type(error).__name__}: {error}\n{record['program']}")
    print(f"{total} programs, {ran} of them with data, {failed} invalid; {left_out} slow ones left out")
    sys.exit(failed > 0)
