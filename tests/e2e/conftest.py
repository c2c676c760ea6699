"""The program as its users meet it: the built binary, real files, exit codes, output."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TRITOGEN_BINARY", ROOT / "build/release/tritogen"))


def runner(folder: pathlib.Path, cache: pathlib.Path):
    """Runs a command in a folder, with a cache of its own; gives the finished process."""

    def run(*arguments: str, timeout: float = 240) -> subprocess.CompletedProcess:
        environment = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable,
                       "TRITOGEN_CACHE": str(cache)}  # fmt: skip
        command = [str(BINARY), *map(str, arguments)]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout)

    return run


@pytest.fixture
def tritogen(tmp_path, tmp_path_factory):
    """In an empty folder."""
    return runner(tmp_path, tmp_path_factory.mktemp("cache"))


@pytest.fixture
def judge(tritogen, tmp_path):
    """Judges candidates in one batch: {id: (reference, candidate)} → {id: verdict}."""

    def run(pairs: dict[str, tuple[str, str]], *options: str) -> dict[str, dict]:
        batch = tmp_path / "batch.jsonl"
        lines = [json.dumps({"id": name, "reference": r, "candidate": c}) for name, (r, c) in pairs.items()]
        batch.write_text("\n".join(lines) + "\n")
        finished = tritogen("verify", "--batch", batch, "--seed", "5", *options)
        assert finished.returncode == 0, finished.stderr
        verdicts = [json.loads(line) for line in finished.stdout.splitlines()]
        return {verdict["id"]: verdict for verdict in verdicts}

    return run


@pytest.fixture
def taught(tritogen, tmp_path):
    """What becomes of the teacher's first answers to modules: {name: text} → its part of eval's summary."""

    def run(modules: dict[str, str], answers: int, *options: str) -> dict:
        tasks = tmp_path / "tasks"
        tasks.mkdir()
        for name, text in modules.items():
            (tasks / f"{name}.py").write_text(text)
        command = ("eval", "--suite", "kernelbench", tasks, "--proposer", "teacher", "-n", answers, "--out", tmp_path / "out", "--json")
        done = tritogen(*command, *options)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert summary["left_out"] == 0
        return summary["proposers"]["teacher"]

    return run
