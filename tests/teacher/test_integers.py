"""Integers and truth values where PyTorch takes them, and dtypes that a call asks for, against PyTorch."""

import pytest

import oracle

# name: body of f; x holds numbers, i and j what they are rounded to
CASES = {
    "activations": "torch.relu(i), F.relu6(i), F.hardtanh(i, -2, 3), F.threshold(i, 1, -7)",
    "rounding": "torch.floor(i), torch.ceil(i), torch.trunc(i), torch.round(i), torch.floor(i.to(torch.int32))",
    "products": "torch.addcmul(i, i, j, value=2), torch.pow(i, j), torch.pow(i, j.abs()), torch.pow(i.int(), j.abs().int())",
    "truth": "(i > 0) + (j > 0), torch.amax(i > 0, 1), torch.max(i > 2, 1), torch.sort(i > 0, 1).values, torch.cummax(i > 0, 1).values",
    "scans": "torch.cummin(i, 0), torch.cummax(i.int(), 1)",
    "sums": "torch.logsumexp(i, 0), torch.cat((x, i), 1), torch.stack((i, j.int()))",
    "scattered": "[torch.scatter_reduce(i, 1, j.abs(), j, how, include_self=own) for how in ('amin', 'amax', 'prod', 'sum') for own in (True, False)]",
    "bounds": "torch.clamp(x, x[0], x[1]), torch.clamp(x, 0.5, -0.5), torch.clamp(i, i[0], i[1])",
    "norms": "torch.linalg.vector_norm(x, dim=1, dtype=torch.float64), torch.linalg.vector_norm(x, 3, dtype=torch.float64)",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_integers(name):
    body = f"(lambda i, j: ({CASES[name]},))((x * 3).round().long(), (y * 2).round().long().clamp(-3, 3))"
    assert oracle.check(oracle.file_of("(5,6),(5,6)", body), "f", is_function=True, strict=True, count=2)
