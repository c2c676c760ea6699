"""`--tensor-parallel`: ranks as processes, on CPUs, where the tile machine stands for each GPU. Equal texts, lost ranks, no orphans."""

import json
import os
import pathlib
import shutil
import signal
import time
import urllib.request

import pytest
from safetensors.torch import load_file, save_file

from bench.tensor_parallel import ranks_of

from .conftest import make_model, start
from .test_generate import lines, write_prompts


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    return make_model(tmp_path_factory.mktemp("parallel") / "tiny", seed=2, intermediate_size=64, head_dim=32,
                      num_attention_heads=8, max_position_embeddings=512, tie_word_embeddings=False)  # fmt: skip


@pytest.fixture
def run(folder, tmp_path):
    """Starts `generate` on CPUs with so many ranks; 1: the CPU's own runner."""

    def begin(ranks: int, *arguments: str, model: pathlib.Path = folder, command: str = "generate"):
        parallel = ["--tensor-parallel", str(ranks)] if ranks > 1 else []
        return start(command, "--model", model, "--device", "cpu", *parallel, *arguments, cwd=tmp_path)

    return begin


def finish(process, seconds: float = 120) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def wait_for_ranks(pid: int, count: int) -> dict[str, int]:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if len(found := ranks_of(pid)) == count:
            return found
        time.sleep(0.05)
    raise AssertionError("the ranks did not start")


def gone(pids) -> bool:
    """Within a moment."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


PROMPTS = [{"id": "a", "prompt": "def relu(x):\n"}, {"id": "b", "prompt": "The quick brown fox " * 8}, {"id": "c", "prompt": "é 😀"}]


@pytest.mark.parametrize("ranks, sampling", [(2, ["--temperature", "0"]), (4, ["--temperature", "0.9", "--top-k", "40"]),
                                             (8, ["--temperature", "0"])])  # fmt: skip
def test_texts_are_those_of_one_rank(run, tmp_path, ranks, sampling):
    path = write_prompts(tmp_path / "p.jsonl", PROMPTS)
    options = ["--prompts", path, "-n", "2", "--seed", "3", "--max-tokens", "8", "--json", *sampling]
    alone, together = finish(run(1, *options)), finish(run(ranks, *options))
    assert alone[0] == 0 and together[0] == 0, together[2]
    by_name = lambda answers: sorted(lines(answers), key=lambda a: (a["id"], a["index"]))
    assert by_name(together[1]) == by_name(alone[1])


def test_the_end_is_silent(run, tmp_path):
    """Ranks still read what rank 0 has put for the last sum when it has all it wants."""
    path = write_prompts(tmp_path / "p.jsonl", PROMPTS)
    for _ in range(8):
        code, _, err = finish(run(4, "--prompts", path, "-n", "2", "--max-tokens", "2", "--temperature", "0"))
        assert code == 0 and "c10d" not in err, err


def long_run(run, tmp_path, *options: str):
    """A generation that goes on for long, when its first answer is there."""
    path = write_prompts(tmp_path / "p.jsonl", [{"id": "short", "prompt": "x " * 505}, {"id": "long", "prompt": "abc"}])
    process = run(2, "--prompts", path, "--max-tokens", "0", "--json", "--temperature", "0", "--ignore-eos", *options)
    ranks = wait_for_ranks(process.pid, 1)
    assert json.loads(process.stdout.readline())["id"] == "short"
    return process, ranks["tritogen-rank1"]


def rest(process) -> tuple[str, str]:
    return process.stdout.read(), process.stderr.read()  # communicate() would lose what readline() had read ahead


def test_a_killed_rank_ends_the_command_with_its_name(run, tmp_path):
    process, rank = long_run(run, tmp_path)
    os.kill(rank, signal.SIGKILL)
    began = time.monotonic()
    _, err = rest(process)
    assert process.wait(timeout=20) == 3 and time.monotonic() - began < 10
    assert f"rank 1 of 2 (process {rank}) has ended: signal 9" in err


def test_a_rank_that_hangs_ends_the_command_with_its_name(run, tmp_path):
    process, rank = long_run(run, tmp_path, "--rank-timeout", "2")
    os.kill(rank, signal.SIGSTOP)
    _, err = rest(process)
    assert process.wait(timeout=20) == 3
    assert "has not ended within 2 s" in err and f"(process {rank}) is stopped" in err
    assert gone([rank])


def test_ctrl_c_goes_to_rank_0_and_leaves_nothing_behind(run, tmp_path):
    process, rank = long_run(run, tmp_path)
    os.kill(rank, signal.SIGINT)  # as a terminal sends it to all
    process.send_signal(signal.SIGINT)
    out, err = rest(process)
    assert process.wait(timeout=20) == 130, err
    (answer,) = lines(out)
    assert answer["finish"] == "cancelled" and answer["tokens"]
    assert gone([rank])


def test_ranks_end_with_rank_0(run, tmp_path):
    process, rank = long_run(run, tmp_path)
    process.kill()
    process.wait()
    rest(process)
    assert gone([rank])


def test_the_server_ends_with_a_rank(run):
    process = run(2, "--port", "0", command="serve")
    while "http" not in (banner := process.stderr.readline()):  # a busy machine says before that what it is at
        assert banner, "the server ended"
    address = banner.split(" at ")[1].split(",")[0]
    body = json.dumps({"model": "tiny", "prompt": "abc", "max_tokens": 4, "temperature": 0}).encode()
    request = urllib.request.Request(f"{address}/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert json.load(reply)["usage"]["completion_tokens"] == 4
    (rank,) = ranks_of(process.pid).values()
    os.kill(rank, signal.SIGKILL)
    assert process.wait(timeout=20) == 3
    assert "rank 1 of 2" in rest(process)[1] and gone([rank])


@pytest.mark.parametrize("ranks, arguments, words", [
    (3, [], "8 attention heads cannot be divided among 3 ranks"),
    (4, ["--batch-invariant"], "two ranks at most"),
    (2, ["--context", "100000"], "more than the model's 512"),
])  # fmt: skip
def test_what_cannot_be_is_refused(run, ranks, arguments, words):
    code, out, err = finish(run(ranks, "--prompt", "x", *arguments))
    assert code == 2 and out == "" and words in err
    assert err.count("\n") == 1, err


@pytest.mark.skipif(pathlib.Path("/dev/nvidia0").exists(), reason="there are GPUs")
def test_gpus_that_are_not_there(folder, tmp_path):
    code, _, err = finish(start("generate", "--model", folder, "--tensor-parallel", "2", "--prompt", "x", cwd=tmp_path))
    assert code == 2 and "2 GPUs are wanted" in err


def test_what_only_another_rank_sees_is_said(run, folder, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    tensors = load_file(damaged / "model.safetensors")
    name = sorted(tensors)[3]  # each rank looks at every other tensor
    tensors[name].view(-1)[5] = float("nan")
    save_file(tensors, damaged / "model.safetensors", metadata={"format": "pt"})
    code, _, err = finish(run(2, "--prompt", "x", model=damaged))
    assert code == 2 and "rank 1 of 2" in err and f"element 5 of {name} is NaN" in err
