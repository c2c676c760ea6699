"""convert: how exact products of float32 are under each contract, and what `verify` says of them."""

import json
import re

import pytest

from . import programs

TEACHER = ("--proposer", "teacher", "-n", "1")


PRODUCT = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.product = {module}
    def forward(self, x):
        return torch.relu(self.product(x))

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("module, inputs, strategy", [
    ("torch.nn.Linear(509, 384)", "torch.randn(384, 509)", "products of bfloat16 parts"),
    ("torch.nn.Conv2d(60, 128, 3, padding=1)", "torch.randn(5, 60, 16, 16)", "products of bfloat16 parts"),
    ("torch.nn.Linear(2101, 500)", "torch.randn(70, 2101)", "products of bfloat16 parts"),  # its weights are taken apart by the product itself
    ("torch.nn.Linear(2100, 500)", "torch.randn(70, 2100)", "fused"),  # three TF32 dots
], ids=["linear", "conv2d", "few_rows", "tf32x3"])
def test_large_products_are_as_exact_as_float32(tritogen, tmp_path, module, inputs, strategy):
    (tmp_path / "large.py").write_text(PRODUCT.format(module=module, inputs=inputs))
    finished = tritogen("convert", "large.py", "--strict", *TEACHER, "--seed", "1", "-o", "out.py")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    row = next(line for line in finished.stdout.splitlines() if strategy in line)
    error, eager = map(float, re.findall(r"\d\.\d+e-\d+", row)[:2])
    assert error < 8 * eager, row  # two parts, or one TF32 dot, would be some hundred times off
    assert ("tf32x3" if strategy == "fused" else "tl.bfloat16") in (tmp_path / "out.py").read_text()


def answer_in_tf32(tritogen, tmp_path, source: str, contract: str):
    """Takes an answer with TF32 dots under `contract`; gives what options of `verify` call it: (verdict, rule, contract)."""
    (tmp_path / "large.py").write_text(source)
    finished = tritogen("convert", "large.py", "--strict", *TEACHER, "-o", "out.py", "--fp32-precision", contract)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    module = (tmp_path / "out.py").read_text()
    assert 'input_precision="tf32"' in module
    (tmp_path / "candidate.py").write_text(module.replace("class Model(", "class ModelNew("))

    def under(*options: str) -> tuple[str, str, str]:
        verdict = json.loads(tritogen("verify", "large.py", "candidate.py", "--json", *options).stdout)
        return verdict["verdict"], verdict["rule"], verdict["fp32_precision"]

    return under


def test_products_in_tf32_are_what_its_contract_allows(tritogen, tmp_path):
    source = programs.REFERENCE.replace("torch.relu(x) * 2.0", "torch.relu(x) @ x.t()").replace("16, 100", "512, 512")
    under = answer_in_tf32(tritogen, tmp_path, source, "tf32")
    assert under() == ("wrong_values", "tf32", "ieee")
    assert under("--fp32-precision", "pytorch") == ("wrong_values", "tf32", "pytorch")


def test_convolutions_in_tf32_are_what_pytorch_computes_by_default(tritogen, tmp_path):
    source = PRODUCT.format(module="torch.nn.Conv2d(24, 64, 3, padding=1)", inputs="torch.randn(4, 24, 40, 36)")
    under = answer_in_tf32(tritogen, tmp_path, source, "pytorch")
    assert under() == ("wrong_values", "tf32", "ieee")
