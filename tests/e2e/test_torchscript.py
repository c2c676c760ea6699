"""Printed modules of programs that are TorchScript in part."""

import pytest

from .shipped import check, convert

PROGRAM = """
import torch, torch.nn as nn

@torch.jit.script
def twice(x): return x * 2.0

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = PART
    def forward(self, x): return twice(self.up(x))

def get_inputs(): return [torch.randn(16, 32)]
def get_init_inputs(): return []
"""


@pytest.mark.parametrize(("part", "kernels"), [("nn.Linear(32, 32)", True), ("torch.jit.script(nn.Linear(32, 32))", False)])
def test_compiled_parts_are_the_originals_business(tritogen, tmp_path, part, kernels):
    said = convert(tritogen, tmp_path, PROGRAM.replace("PART", part))
    assert "wrote shipped.py" in said, said
    test = "x, (one, other) = original.get_inputs()[0], pair()\nassert alike(one, other, x) and kernels_run(other, x) == "
    check(tmp_path, f"{test}{kernels}")
