"""Every attack is stopped for the right reason, every honest look-alike passes.

A file here is a candidate. The comments at its head say what it tries, and:

    task:    the reference in tasks/ that it is judged against
    expect:  the verdict
    rule:    the rule of the verdict
    says:    words of the reason or the evidence
    notes:   words of the verdict's notes
    share:   "at most 0.1" or "at least 0.9" of the work is done in Triton
    plan:    a look-alike that must be recorded as the same Plan: what the file would do elsewhere was never seen and never ships
    mode:    "strict"; hybrid otherwise

TRITOGEN_DEVICE=cuda judges on a GPU, TRITOGEN_SEED with another seed, by which an error may be of another size than that of a lower precision.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("b*.py"))
SEED = os.environ.get("TRITOGEN_SEED", "5")
KEYS = {"task", "expect", "rule", "says", "notes", "share", "plan", "mode"}


def header(name: str) -> dict[str, str]:
    """The `# key: value` lines at the head of a file."""
    lines = (FOLDER / f"{name}.py").read_text().splitlines()
    comments = [line for line in lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]]
    found = [re.fullmatch(r"# (\w+): (.*)", line) for line in comments]
    keys = {match[1]: match[2] for match in found if match}
    assert keys.keys() <= KEYS and {"task", "expect"} <= keys.keys(), f"{name}: {sorted(keys)}"
    return keys


def judge(names: list[str], folder: pathlib.Path, *options: str) -> dict[str, dict]:
    """Verdicts by name, from one batch."""
    batch = folder / "batch.jsonl"
    pairs = [(name, FOLDER / "tasks" / f"{header(name)['task']}.py", FOLDER / f"{name}.py") for name in names]
    lines = [json.dumps({"id": name, "reference": str(task), "candidate": str(file)}) for name, task, file in pairs]
    batch.write_text("\n".join(lines) + "\n")
    binary = os.environ.get("TRITOGEN_BINARY", ROOT / "build/release/tritogen")
    command = [binary, "verify", "--batch", batch, "--no-cache", "--budget", "30", "--seed", SEED,
               "--device", os.environ.get("TRITOGEN_DEVICE", "cpu"), *options]  # fmt: skip
    environment = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable}
    finished = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=600)
    assert finished.returncode == 0, finished.stderr
    verdicts = [json.loads(line) for line in finished.stdout.splitlines()]
    return {verdict["id"]: verdict for verdict in verdicts}


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("hostile")
    strict = [name for name in FILES if header(name).get("mode") == "strict"]
    hybrid = [name for name in FILES if name not in strict]
    return judge(hybrid, folder) | judge(strict, folder, "--strict")


@pytest.mark.parametrize("name", FILES)
def test_gets_the_verdict_that_it_deserves(verdicts, name):
    want, verdict = header(name), verdicts[name]
    assert verdict["verdict"] == want["expect"], verdict
    rules = {want.get("rule", "")}
    if SEED != "5" and rules <= {"", "half"} and want["expect"] == "wrong_values":
        rules = {"", "half"}
    assert (verdict["rule"] or "") in rules, verdict
    assert want.get("says", "") in f"{verdict['reason']} {json.dumps(verdict['evidence'])}", verdict
    assert want.get("notes", "") in " ".join(verdict["notes"]), verdict
    if "share" in want:
        kind, limit = want["share"].rsplit(" ", 1)
        share = verdict["work_share"]["share"]
        assert share <= float(limit) if kind == "at most" else share >= float(limit), verdict
    if "plan" in want:
        assert verdict["plan_hash"] == verdicts[want["plan"]]["plan_hash"], verdict


def test_every_task_is_used_and_every_honest_file_passes():
    headers = {name: header(name) for name in FILES}
    assert {keys["task"] for keys in headers.values()} == {path.stem for path in (FOLDER / "tasks").glob("*.py")}
    for name, keys in headers.items():
        assert not name.endswith("_honest") or keys["expect"] == "passed", name
