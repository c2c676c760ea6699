"""bench/draw_tasks.py: what it draws runs, and is the same for the same seed."""

import pathlib

import torch

from .. import warm_python

ROOT = pathlib.Path(__file__).resolve().parents[2]


def drawn(folder, *arguments):
    exit_code, said = warm_python.run_file(ROOT / "bench/draw_tasks.py", *arguments)
    assert exit_code == 0, said
    return {file.name: file.read_text() for file in sorted(folder.glob("*.py"))}


def run(text):
    names = {"__name__": "task"}
    exec(text, names)
    return names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]())


def test_chains_run_and_hang_on_the_seed_alone(tmp_path):
    chains = drawn(tmp_path / "a", "chains", tmp_path / "a", "--count", 6, "--seed", 3, "--small")
    assert len(chains) == 6
    assert all(torch.is_tensor(run(text)) for text in chains.values())
    assert chains == drawn(tmp_path / "b", "chains", tmp_path / "b", "--count", 6, "--seed", 3, "--small")
    assert chains != drawn(tmp_path / "c", "chains", tmp_path / "c", "--count", 6, "--seed", 4, "--small")


def test_mutants_are_the_task_with_other_numbers(tmp_path):
    task = """\
import torch


class Model(torch.nn.Module):
    def __init__(self, channels, kernel_size):
        super().__init__()
        self.layer = torch.nn.Conv1d(channels, 8, kernel_size)

    def forward(self, x):
        return self.layer(x)


channels, kernel_size = 16, 3
size = 20000


def get_inputs():
    return [torch.rand(4, channels, size)]


def get_init_inputs():
    return [channels, kernel_size]
"""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/conv.py").write_text(task)
    mutants = drawn(tmp_path / "out", "mutants", tmp_path / "tasks", tmp_path / "out", "--each", 3)
    assert len(set(mutants.values())) == 3
    for text in mutants.values():
        assert "def forward(self, x):\n        return self.layer(x)" in text
        run(text)
