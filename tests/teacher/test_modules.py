"""Every candidate of the teacher for whole modules and for the examples, against PyTorch. Needs TEACH_FILE (the binary)."""

import pathlib

import pytest

import oracle

MODULE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, width))
        self.norm = nn.LayerNorm(width)
        self.register_buffer("shift", torch.ones(width))

    def forward(self, x):
        return {"y": self.norm(x + self.net(x)) + self.shift, "parts": [x.sum()]}


def get_inputs():
    return [torch.randn(17, 20)]


def get_init_inputs():
    return [20]
"""


def test_module_with_numbered_children_and_a_structure():
    assert oracle.check(MODULE, strict=True)


CROSS_ENTROPY = """
import torch
import torch.nn.functional as F


def f(logits, labels):
    return F.cross_entropy(logits, labels)


def get_inputs():
    labels = torch.randint(0, 30, (9,))
    labels[3] = -100
    return [torch.randn(9, 30), labels]
"""


def test_cross_entropy_ignores_marked_rows():
    assert oracle.check(CROSS_ENTROPY, "f", is_function=True, strict=True)


BATCH_NORM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(3)
        self.eval()

    def forward(self, x):
        return torch.relu(self.bn(x))


def get_inputs():
    return [torch.randn(2, 3, 5, 5)]
"""


def test_batch_norm_with_running_statistics():
    assert oracle.check(BATCH_NORM, strict=True)


EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_kernels_of_the_examples(path):
    source = path.read_text()
    is_function = "class Model" not in source
    entry = path.stem if is_function else "Model"
    assert oracle.check(source, entry, is_function=is_function, count=3)
