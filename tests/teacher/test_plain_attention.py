"""Products of weights that are no softmax with values, against PyTorch: attention without maximum and sum."""

import pytest

import oracle

HEADS = "(2,3,70,20),(2,3,90,20),(2,3,90,24)"
SQUARE = "(2,3,70,20),(2,3,70,20),(2,3,70,24)"
# name: (shapes of the inputs, body of f)
WEIGHTS = {
    "sigmoid": (HEADS, "torch.sigmoid(x @ y.transpose(-1, -2) * 0.35 - 2.5) @ z"),
    "squares": (HEADS, "F.relu(torch.einsum('bhqd,bhkd->bhqk', x, y)).pow(2) / 90 @ z"),
    "decay": (SQUARE, "(x @ y.mT * torch.where(torch.arange(70)[:, None] >= torch.arange(70), 0.9 ** (torch.arange(70)[:, None] - torch.arange(70)).float(), 0.0)) @ z"),
    "causal": (SQUARE, "torch.tril(F.silu(x @ y.mT)) @ z + x[..., :1]"),
    "window": (SQUARE, "torch.triu(torch.tril(x @ y.mT), -20) @ z"),
    "masked": ("(2,70,20),(2,90,20),(2,90,24)", "torch.where(x[:, :, :1] > 0, torch.tanh(x @ y.mT), 0.0) @ z"),
}  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTS)
def test_plain_attention(name):
    shapes, body = WEIGHTS[name]
    text = oracle.file_of(shapes, body)
    assert oracle.check(text, "f", is_function=True, strict=True, count=3, with_first="# Scores stay in registers.")
