"""What eager PyTorch refuses, the recorder refuses, in the program's own line; what eager runs is recorded."""

from __future__ import annotations

import pytest

from programs import reference, source_of

# Of x, float16 or float32, and y, float32, both [4, 8].
MIXED = {
    "linear": "F.linear(x, y)",
    "mm": "torch.mm(x, y.t())",
    "matmul": "torch.matmul(x.view(2, 2, 8), y.t())",
    "mv": "torch.mv(x, y[0])",
    "einsum": "torch.einsum('ij,kj->ik', x, y)",
    "baddbmm": "torch.baddbmm(x[None], x[None], y.t().mm(y)[None])",
    "grid_sample": "F.grid_sample(x.view(1, 1, 4, 8), y.view(1, 4, 4, 2), align_corners=False)",
    "binary_cross_entropy": "F.binary_cross_entropy(x.sigmoid(), y.sigmoid())",
    "cross_entropy": "F.cross_entropy(x, torch.zeros(4, dtype=torch.int64, device=x.device), weight=y[0].abs())",
    "nll_loss": "F.nll_loss(x, torch.zeros(4, dtype=torch.int64, device=x.device), weight=y[0].abs())",
    "cdist": "torch.cdist(y, x)",
    "index_put": "x.index_put((torch.zeros(4, dtype=torch.int64, device=x.device),), y)",
}
PROMOTED = ["x + y", "torch.where(y > 0, x, y)", "F.mse_loss(x, y)", "torch.lerp(y, y, 0.5) * x", "torch.outer(x[0], y[0])"]
NUMBERS = {
    "masked_fill": "x.masked_fill(x > 0, -{})",
    "fill": "x.clone().fill_({})",
    "full_like": "x + torch.full_like(x, -{})",
    "full": "x + torch.full((8,), {}, dtype=x.dtype, device=x.device)",
    "new_full": "x + x.new_full((8,), {})",
    "clamp": "x.clamp(min=-{})",
    "clamp_max": "x.clamp(max={})",
    "hardtanh": "F.hardtanh(x, -{0}, {0})",
    "pad": "F.pad(x, (1, 1), value={})",
    "index_fill": "x.index_fill(0, torch.zeros(1, dtype=torch.int64, device=x.device), {})",
    "scatter": "x.scatter(0, torch.zeros(1, 8, dtype=torch.int64, device=x.device), {})",
}  # fmt: skip


def program(expression: str, dtype: str) -> str:
    return f"""
def f(x, y):
    return {expression}
def get_inputs():
    return [torch.randn(4, 8).to(torch.{dtype}), torch.randn(4, 8)]
"""


def eager_runs(text: str) -> bool:
    scope: dict = {}
    exec(source_of(text), scope)
    try:
        scope["f"](*scope["get_inputs"]())
    except RuntimeError:
        return False
    return True


def agree(text: str) -> bool:
    """Whether both run it; they must say the same, and the recorder where."""
    runs = eager_runs(text)
    reply = reference(text, entry="f", kind="function")
    assert reply["ok"] == runs, reply
    if not runs:
        assert "RuntimeError" in reply["message"], reply
        assert source_of(text).splitlines()[reply["line"] - 1].startswith("    return"), reply
    return runs


@pytest.mark.parametrize("name", MIXED)
def test_tensors_of_two_dtypes(name):
    assert not agree(program(MIXED[name], "float16"))
    assert agree(program(MIXED[name], "float32"))


@pytest.mark.parametrize("expression", PROMOTED)
def test_what_is_promoted(expression):
    assert agree(program(expression, "float16"))


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_no_half_is(name):
    assert not agree(program(NUMBERS[name].format("1e9"), "float16"))
    assert agree(program(NUMBERS[name].format("1e9"), "float32"))
    assert agree(program(NUMBERS[name].format("float('inf')"), "float16"))
