"""verify: right and wrong candidates, hostile ones, batches that are interrupted."""

import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import signal
import time

import pytest

from . import programs


@pytest.fixture(scope="module", autouse=True)
def orphans_are_adopted():
    """What outlives its command becomes a child of this process, where `zygotes` finds it."""
    set_child_subreaper = 36
    assert ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0) == 0
    yield
    ctypes.CDLL(None).prctl(set_child_subreaper, 0, 0, 0, 0)


def test_every_bad_candidate_gets_its_own_verdict_and_disturbs_nobody(judge, tmp_path):
    pairs = {name: (programs.REFERENCE, text) for name, (text, _, _) in programs.BAD_CANDIDATES.items()}
    pairs |= {name: (text, programs.candidate()) for name, (text, _) in programs.BAD_REFERENCES.items()}
    pairs |= {f"right_{i}": (programs.REFERENCE, programs.candidate(top=f"# {i}")) for i in range(4)}
    verdicts = judge(pairs, "--budget", "8")
    assert verdicts.keys() == pairs.keys()
    for name, (_, expected, word) in programs.BAD_CANDIDATES.items():
        verdict = verdicts[name]
        assert verdict["verdict"] in expected, (name, verdict)
        assert word in f"{verdict['reason']} {verdict['rule']}", (name, verdict)
    for name, (_, word) in programs.BAD_REFERENCES.items():
        verdict = verdicts[name]
        assert (verdict["verdict"], verdict["rule"]) == ("infra_error", "reference"), (name, verdict)
        assert word in verdict["reason"], (name, verdict)
    assert [verdicts[f"right_{i}"]["verdict"] for i in range(4)] == ["passed"] * 4
    assert zygotes() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["batch.jsonl"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "reference.py").write_text(programs.REFERENCE)
    (tmp_path / "right.py").write_text(programs.candidate())
    (tmp_path / "wrong.py").write_text(programs.candidate().replace("* 2.0", "* 2.5"))
    return tmp_path


def test_exit_codes_and_json(tritogen, files):
    passed = tritogen("verify", "reference.py", "right.py", "--json", "--seed", "3")
    assert passed.returncode == 0, passed.stderr
    verdict = json.loads(passed.stdout)
    assert {"verdict", "reason", "evidence", "work_share", "max_error", "error_budget", "seed"} <= verdict.keys()
    assert (verdict["verdict"], verdict["seed"], verdict["work_share"]["share"]) == ("passed", 3, 1)
    assert verdict["max_error"] <= verdict["error_budget"]
    wrong = tritogen("verify", "reference.py", "wrong.py")
    assert wrong.returncode == 1
    assert wrong.stdout.startswith("wrong_values")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "REFERENCE"),
        (["missing.py", "right.py"], "missing.py"),
        (["reference.py", "."], "."),
        (["--batch", "missing.jsonl"], "missing.jsonl"),
        (["--seed", "x", "reference.py", "right.py"], "seed"),
        (["--device", "cuda", "reference.py", "right.py"], "--device cpu"),
        (["--out", "verdicts.jsonl", "reference.py", "right.py"], "--batch"),
        (["--batch", "reference.py", "--function", "f"], "--function goes with two files"),
    ],
)
def test_wrong_use_is_exit_code_2_and_says_what(tritogen, files, arguments, word):
    finished = tritogen("verify", *arguments)
    assert finished.returncode == 2
    assert word in finished.stderr + finished.stdout


def test_a_batch_goes_on_where_it_stopped(tritogen, files):
    lines = [{"id": str(i), "reference": "reference.py", "candidate": "right.py"} for i in range(3)]
    (files / "batch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "not json\n")
    finished = json.dumps({"id": "0", "verdict": "passed"})
    (files / "out.jsonl").write_text(finished + "\n" + '{"id": "1", "verd')  # cut off by a crash
    assert tritogen("verify", "--batch", "batch.jsonl", "--out", "out.jsonl").returncode == 0
    written = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert written[0] == {"id": "0", "verdict": "passed"}
    verdicts = {line["id"]: line["verdict"] for line in written}
    assert verdicts == {"0": "passed", "1": "passed", "2": "passed", "line 4": "infra_error"}


def descendants(pid: int) -> list[int]:
    """Of a process, itself left out; those that end meanwhile may be missing."""
    found = []
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, children.read_text().split()):
                found += [child, *descendants(child)]
    return found


def zygotes() -> list[int]:
    """Recording workers that any command of this test has started: parents first."""
    found = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if b"zygote" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def test_a_batch_survives_the_death_of_what_records_for_all(tritogen, files):
    """The worker is shared by all judges, which were forked when it lived and cannot start another."""
    lines = [{"id": str(i), "reference": "reference.py", "candidate": "right.py"} for i in range(60)]
    (files / "batch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = files / "out.jsonl"
    arguments = ("verify", "--batch", "batch.jsonl", "--out", "out.jsonl", "--no-cache")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(tritogen, *arguments)
        while not (out.exists() and out.read_text().count("\n") >= 3) and not running.done():
            time.sleep(0.02)
        os.kill(zygotes()[0], signal.SIGKILL)
        finished = running.result()
    assert finished.returncode == 0, finished.stderr
    verdicts = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(verdicts) == 60
    assert {verdict["verdict"] for verdict in verdicts} == {"passed"}, [v for v in verdicts if v["verdict"] != "passed"]


def test_a_verdict_of_an_earlier_run_is_found_by_its_plan(tritogen, files):
    (files / "other.py").write_text("# the same program\n" + (files / "right.py").read_text())
    lines = [json.dumps({"id": name, "reference": "reference.py", "candidate": f"{name}.py"}) for name in ("right", "other", "wrong")]
    (files / "batch.jsonl").write_text("\n".join(lines) + "\n")

    def verdict(name: str, *options: str) -> dict:
        return json.loads(tritogen("verify", "reference.py", name, "--json", *options).stdout)

    first = verdict("right.py", "--seed", "3")
    assert not first["cached"] and first["verdict"] == "passed"
    batch = tritogen("verify", "--batch", "batch.jsonl", "--seed", "3").stdout.splitlines()
    later = {line["id"]: line for line in map(json.loads, batch)}
    assert {name: (line["verdict"], line["cached"]) for name, line in later.items()} == {
        "right": ("passed", True), "other": ("passed", True), "wrong": ("wrong_values", False)}  # fmt: skip
    again = later["right"]
    assert again["plan_hash"] == first["plan_hash"] and again["outputs"] == first["outputs"] and again["made"]
    assert verdict("wrong.py", "--seed", "3")["evidence"] == later["wrong"]["evidence"]
    assert not verdict("right.py", "--seed", "4")["cached"]
    assert not verdict("right.py", "--seed", "3", "--no-cache")["cached"]
    assert not verdict("right.py", "--seed", "3", "--strict")["cached"]
    assert "cached" in tritogen("verify", "reference.py", "right.py", "--seed", "3").stdout


def test_html_shows_the_verdict_and_the_source_as_text(tritogen, tmp_path):
    (tmp_path / "reference.py").write_text(programs.REFERENCE)
    (tmp_path / "candidate.py").write_text(programs.candidate(top="# <script>alert(1)</script>"))
    finished = tritogen("verify", "reference.py", "candidate.py", "--seed", "5", "--html", "report.html")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    page = (tmp_path / "report.html").read_text()
    assert "candidate.py for reference.py" in page and ">passed<" in page
    assert "<script" not in page and "&lt;script&gt;" in page


def test_what_is_read_is_not_written_over(tritogen, tmp_path):
    (tmp_path / "r.py").write_text(programs.REFERENCE)
    batch = json.dumps({"id": "a", "reference": "r.py", "candidate": "r.py"}) + "\n"
    (tmp_path / "batch.jsonl").write_text(batch)  # its lines look like those of an earlier run
    for arguments in (("--batch", "batch.jsonl", "--out", "./batch.jsonl"), ("r.py", "r.py", "--html", tmp_path / "r.py")):
        finished = tritogen("verify", *arguments)
        assert finished.returncode == 2 and "name another file" in finished.stderr
    assert (tmp_path / "batch.jsonl").read_text() == batch and (tmp_path / "r.py").read_text() == programs.REFERENCE
