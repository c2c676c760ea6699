"""convert with the policy that comes along: which programs it is asked about, and in which parts."""

import re

from . import programs


def test_the_policy_is_asked_beside_the_teacher_about_what_it_knows(tritogen, tmp_path):
    (tmp_path / "relu.py").write_text(programs.REFERENCE)
    finished = tritogen("convert", "relu.py", "-o", "out.py", "-n", "2")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "teacher: " in finished.stdout and "policy: " in finished.stdout and "of 2 passed" in finished.stdout
    nine = "x.relu().sin().tanh().neg().exp().relu().cos().abs()"
    (tmp_path / "longer.py").write_text(programs.REFERENCE.replace("torch.relu(x)", nine))
    longer = tritogen("convert", "longer.py", "-o", "out.py", "-n", "1")
    assert longer.returncode == 0 and "policy: not asked: the program has 9 operations" in longer.stdout
    alone = tritogen("convert", "relu.py", "-o", "out.py", "-n", "1", "--proposer", "teacher")
    assert alone.returncode == 0 and "policy" not in alone.stdout


LONG = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        hidden = torch.relu(self.up(self.norm(x)))
        y = torch.sigmoid(self.down(hidden)) * x
        return y.transpose(1, 2), y.mean(dim=1)


def get_inputs():
    return [torch.randn(2, 8, 32)]


def get_init_inputs():
    return []
"""


def test_the_policys_answers_to_parts_of_a_long_program_make_one_module(tritogen, tmp_path):
    (tmp_path / "long.py").write_text(LONG)
    asked = ("--proposer", "policy", "--strict", "--seed", "1")
    finished = tritogen("convert", "long.py", "-o", "out.py", *asked, "-n", "2")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert re.search(r"embedded #\d in 3 parts +passed", finished.stdout), finished.stdout
    assert "class Model" in (tmp_path / "out.py").read_text()
    whole = tritogen("convert", "long.py", "-o", "whole.py", *asked, "-n", "1", "--parts", "0", "--no-repair", "--max-tokens", "40")
    assert re.search(r"embedded #\d +no_answer", whole.stdout) and "parts" not in whole.stdout, whole.stdout
