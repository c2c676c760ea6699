"""./tritogen, the script in front of the binary."""

import collections
import os
import pathlib
import subprocess

import pytest

from .conftest import ROOT


@pytest.mark.parametrize("command", ["test", "setup", "doctor"])
def test_help_of_its_own_commands_does_nothing_else(command):
    done = subprocess.run([ROOT / "tritogen", command, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(f"usage: ./tritogen {command}"), done
    assert done.stdout.count("\n") == 1 and done.stderr == ""


def test_what_it_says_has_no_colours_outside_of_terminals(tmp_path):
    text = (ROOT / "tritogen").read_text()
    say = text[text.index("say() {") : text.index("die() {")]
    done = subprocess.run(["bash", "-c", f"{say}\nsay words"], capture_output=True, text=True, timeout=60)
    assert done.stderr == "tritogen: words\n"


@pytest.mark.parametrize("python", ["/bin/false", "/bin/true", "/nowhere/python"])
def test_an_interpreter_that_is_none_is_named(python):
    environment = {**os.environ, "TRITOGEN_PYTHON": python, "TRITOGEN_BINARY": "/bin/echo"}
    done = subprocess.run([ROOT / "tritogen", "program"], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 3 and done.stdout == ""
    assert done.stderr == f"tritogen: {python} is no Python that has torch; TRITOGEN_PYTHON names one that has torch and Triton\n"


def test_each_file_of_tests_is_in_one_suite():
    text = (ROOT / "tritogen").read_text()
    lists = text[text.index("suites=(") : text.index("run_suite() {")]
    expand = lists + 'for suite in "${suites[@]}" "${alone[@]}"; do printf "%s\\n" $suite; done'
    done = subprocess.run(["bash", "-c", expand], cwd=ROOT, capture_output=True, text=True, timeout=60)
    suites = collections.Counter(pathlib.Path(line) for line in done.stdout.splitlines())
    files = [file.relative_to(ROOT) for folder in ("tests", "worker/tests") for file in (ROOT / folder).rglob("test_*.py")]
    assert len(files) > 50
    assert {file: sum(suites[path] for path in (file, *file.parents)) for file in files} == dict.fromkeys(files, 1)
