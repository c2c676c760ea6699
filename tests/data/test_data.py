"""Data sets as their users meet them: built, killed, gone on with, cut in half, exported."""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TRITOGEN_BINARY", str(ROOT / "build/release/tritogen"))
ENVIRONMENT = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable}
CONFIG = """
seed = 11
shard_programs = 4
[programs]
max_elements = 1024
max_rank = 2
per_graph = 1
[[level]]
level = 1
programs = 8
operators = "relu,exp,add,sum,mul"
[[level]]
level = 2
programs = 4
operators = "relu,exp,add,sum,mul"
[teacher]
answers = 2
[[stage]]
name = "dedup"
[[stage]]
name = "filter"
"""


def data(*arguments, **options):
    command = [BINARY, "data", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=240, **options)


def start(*arguments):
    command = [BINARY, "data", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "data.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory):
    """A set built in one go."""
    folder = tmp_path_factory.mktemp("whole") / "set"
    done = data("build", "--config", config, "--out", folder, "--judges", 1)
    assert done.returncode == 0, done.stderr
    assert (folder / "manifest.json").exists()
    return folder


def wait_for(path, process):
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_killed_stopped_and_sliced_it_is_the_same_set(config, whole, tmp_path):
    folder = tmp_path / "set"
    process = start("build", "--config", config, "--out", folder, "--judges", 3)
    wait_for(folder / "shard-00000.json", process)
    process.kill()
    process.communicate()
    assert not (folder / "manifest.json").exists()
    process = start("build", "--config", config, "--out", folder, "--shards", "1:3")
    wait_for(folder / "shard-00001.json", process)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode in (0, 130), error  # 0: it was quicker
    assert "not finished" in out
    done = data("build", "--config", config, "--out", folder, "--judges", 2)
    assert done.returncode == 0, done.stderr
    assert files(folder) == files(whole)


def test_sigterm_while_it_starts_leaves_nothing_half_written(config, tmp_path):
    process = start("build", "--config", config, "--out", tmp_path / "set")
    wait_for(tmp_path / "set" / "set.json", process)
    process.terminate()
    process.communicate(timeout=120)
    assert process.returncode in (130, -signal.SIGTERM)  # before or after it catches signals
    assert not list((tmp_path / "set").glob("shard*"))


def test_a_shard_cut_in_half_is_refused_and_built_anew(config, whole, tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    for name, contents in files(whole).items():
        (folder / name).write_bytes(contents)
    shard = folder / "shard-00001.jsonl.zst"
    shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 2])
    checked = data("verify-manifest", folder)
    assert checked.returncode == 1 and "shard-00001.jsonl.zst" in checked.stdout and "cut off" in checked.stdout
    for command in (["stats", folder], ["export", folder, "--out", tmp_path / "x"], ["show", folder, 0]):
        done = data(*command)
        if command[0] != "show":  # record 0 lies in another shard
            assert done.returncode == 2 and "cut off" in done.stderr, done.stderr
    assert not (tmp_path / "x").exists()
    assert data("build", "--config", config, "--out", folder).returncode == 0
    assert files(folder) == files(whole)
    assert data("verify-manifest", folder).returncode == 0


def test_a_shard_that_cannot_be_written_ends_the_build_which_goes_on_later(config, whole, tmp_path):
    """A folder in the way stands for the full disk."""
    folder = tmp_path / "set"
    (folder / "shard-00001.jsonl.zst").mkdir(parents=True)
    done = data("build", "--config", config, "--out", folder)
    assert done.returncode == 2 and "shard-00001.jsonl.zst" in done.stderr, done.stderr
    assert "1 of 3 shards are done, and the same command goes on" in done.stderr, done.stderr
    assert not (folder / "manifest.json").exists()
    (folder / "shard-00001.jsonl.zst").rmdir()
    assert data("build", "--config", config, "--out", folder).returncode == 0
    assert files(folder) == files(whole)


def test_exports_show_and_stats(whole, tmp_path):
    rows = [json.loads(line) for line in data("export", whole, "--format", "conversations").stdout.splitlines()]
    assert rows and all([m["role"] for m in row["messages"]] == ["system", "user", "assistant"] for row in rows)
    verl = [json.loads(line) for line in data("export", whole, "--format", "verl", "--one-per-program").stdout.splitlines()]
    assert 0 < len(verl) < len(rows)
    for row in verl:
        assert row["data_source"] == "tritogen" and [m["role"] for m in row["prompt"]] == ["system", "user"]
        space = {}
        exec(row["reward_model"]["ground_truth"], space)
        space["Model"]()(*space["get_inputs"]())
    records = data("export", whole, "--format", "records", "--one-per-program").stdout
    assert [json.loads(line)["fingerprint"] for line in records.splitlines()] == [row["extra_info"]["fingerprint"] for row in verl]
    (tmp_path / "tasks.jsonl").write_text("".join(records.splitlines(True)[:2]))
    evaluation = [BINARY, "eval", "--proposer", "teacher", "--suite", tmp_path / "tasks.jsonl", "-n", "1", "--json"]
    summary = json.loads(subprocess.run(evaluation, capture_output=True, text=True, env=ENVIRONMENT, timeout=240).stdout)
    assert summary["proposers"]["teacher"]["all"]["passed"] == 2
    shown = data("show", whole, rows[1]["id"])
    assert shown.returncode == 0 and "class ModelNew" in shown.stdout and "passed" in shown.stdout
    assert data("show", whole, 10**6).returncode == 2
    page = tmp_path / "page.html"
    stats = json.loads(data("stats", whole, "--json", "--html", page).stdout)
    assert stats["records"] == len(rows) == sum(stats["levels"].values())
    assert "fused" in stats["strategies"] and not any(re.search(r"^a$|=|\b\d", name) for name in stats["strategies"])
    assert "<script" not in page.read_text() and "Operators" in page.read_text()


@pytest.mark.parametrize("form", ["conversations", "verl"])
def test_parquet_holds_the_rows_of_the_lines(form, whole, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in data("export", whole, "--format", form).stdout.splitlines()]
    assert rows and data("export", whole, "--format", form, "--out", tmp_path / "rows.parquet").returncode == 0
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == rows
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
    done = data("export", whole, "--split", "test", "--format", form, "--out", tmp_path / "none.parquet")
    assert (done.returncode, (tmp_path / "none.parquet").exists()) in [(0, True), (2, False)], done.stderr


def test_parquet_without_pyarrow_says_what_to_install(whole, tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError('none here')")
    environment = {**ENVIRONMENT, "PYTHONPATH": str(tmp_path)}
    command = [BINARY, "data", "export", str(whole), "--out", str(tmp_path / "rows.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 2 and "-m pip install pyarrow" in done.stderr, done.stderr
    assert not (tmp_path / "rows.parquet").exists()


def test_parquet_on_a_full_disk_is_one_line(tmp_path):
    pytest.importorskip("pyarrow")
    lines = tmp_path / "rows.jsonl"
    lines.write_text(json.dumps({"x": "y" * 5000}) + "\n")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    command = [sys.executable, ROOT / "tools/to_parquet.py", lines, tmp_path / "rows.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 1 and "Traceback" not in done.stderr and "File too large" in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_what_a_suite_holds_does_not_come(config, whole, tmp_path):
    """Recorded and lifted, a reference has the fingerprint that its program had when it was drawn."""
    suite = tmp_path / "suite"
    suite.mkdir()
    wanted = {}
    for line in data("export", whole, "--format", "verl", "--one-per-program").stdout.splitlines():
        row = json.loads(line)
        name = row["extra_info"]["id"] + ".py"
        (suite / name).write_text(row["reward_model"]["ground_truth"])
        wanted[name] = row["extra_info"]["fingerprint"]
    done = data("fingerprints", suite, "--out", tmp_path / "suite.jsonl")
    assert done.returncode == 0, done.stderr
    got = {line["file"]: line["fingerprint"] for line in map(json.loads, (tmp_path / "suite.jsonl").open())}
    assert got == wanted
    other = tmp_path / "other.toml"
    other.write_text(CONFIG.replace("[programs]", f'[programs]\navoid = ["{tmp_path}/suite.jsonl"]'))
    done = data("build", "--config", other, "--out", tmp_path / "set")
    rows = data("export", tmp_path / "set", "--format", "verl").stdout.splitlines() if done.returncode == 0 else []
    assert done.returncode == 0 or "are to be avoided" in done.stderr, done.stderr
    assert not {json.loads(row)["extra_info"]["fingerprint"] for row in rows} & set(wanted.values())


@pytest.mark.parametrize("text, words", [
    ("sede = 1\n" + CONFIG, "unknown key 'sede'; did you mean 'seed'?"),
    (CONFIG.replace("level = 2", "level = 0"), "level.level: 0 is outside 1 to 64"),
    (CONFIG.replace("relu,exp", "rellu,exp"), "no operator 'rellu'"),
    (CONFIG.replace("max_elements = 1024", "max_elements = 1\nsizes = \"4\"\nmax_bytes = 1"), "no sizes that fit"),
    (CONFIG.replace('"dedup"', '"dedupe"'), "did you mean 'dedup'?"),
])
def test_wrong_configurations_are_said(text, words, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    done = data("build", "--config", path, "--out", tmp_path / "set")
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert "fault of Tritogen" not in done.stderr


def test_the_sample_in_the_repository_is_whole():
    done = data("verify-manifest", ROOT / "examples/data_small")
    assert done.returncode == 0, done.stdout
