"""program: canonical texts of files, one by one and many at once; the operator catalogue as a list."""

import re

from .conftest import ROOT
from . import programs


def test_check_has_a_line_for_each_file_and_goes_on(tritogen, tmp_path):
    (tmp_path / "good.py").write_text(programs.REFERENCE)
    (tmp_path / "broken.py").write_text("x = (")
    (tmp_path / "unknown.py").write_text(programs.REFERENCE.replace("torch.relu(x)", "torch.linalg.ldl_factor(x @ x.mT)[0]"))
    finished = tritogen("program", "--check", "broken.py", "good.py", "unknown.py", "missing.py")
    assert finished.returncode == 2
    lines = [line for line in finished.stdout.splitlines() if not line.startswith(" ")]
    assert [line.split(",")[0] for line in lines] == [
        "broken.py: no program", "good.py: canonical", "unknown.py: not canonical", "missing.py: no program"]  # fmt: skip
    assert "broken.py:1: SyntaxError" in finished.stdout and "cannot read missing.py" in finished.stdout
    assert tritogen("program", "--check", "good.py", "unknown.py").returncode == 1


def test_what_is_printed_reads_back(tritogen, tmp_path):
    printed = tritogen("program", ROOT / "examples/rotary.py").stdout
    (tmp_path / "printed.py").write_text(printed)
    assert tritogen("program", "--text", "printed.py").stdout == printed


def test_operators_are_listed_and_explained(tritogen):
    *rows, last = tritogen("program", "--operators").stdout.splitlines()
    assert last.startswith(f"{len(rows)} operators")
    assert any(re.match(r"relu +pointwise +torch\.relu$", row) for row in rows)
    shown = tritogen("program", "--operators", "conv2d", "all")
    assert "aten::conv2d(Tensor input" in shown.stdout and "\nall: reductions, written torch.all" in shown.stdout
    wrong = tritogen("program", "--operators", "maxpool2d")
    assert wrong.returncode == 2 and "did you mean 'max_pool2d'" in wrong.stderr
    assert tritogen("program").returncode == 2
