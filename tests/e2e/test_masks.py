"""x[mask] in a reference: how many rows that is hangs on data, what is made of them need not."""

import pytest

from .shipped import check, convert

HEAD = """import torch, torch.nn as nn, torch.nn.functional as F
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 5)
    def forward(self, x, y, t):
        m = y[..., 0] > 0
"""
TAIL = """
def get_inputs(): return [torch.randn(4, 6, 8), torch.randn(4, 6, 8), torch.randint(0, 5, (4, 6))]
def get_init_inputs(): return []
"""
FORWARD = {
    "writes": "y = y.clone(); a = x[m]; y[m] = a * 2 + 1; y[~m] *= 0.5; a += 1; x = x.clone(); x[m] = 7; y[m] += a; return y + x",
    "means": "return F.mse_loss(x[m], y[m]) + F.l1_loss(x[m], y[m], reduction='sum') + (x[m] - y[m]).abs().mean() + x[m].mean((0, 1))",
    "labels": "return F.cross_entropy(self.head(x[m]), t[m]) + F.nll_loss(self.head(x[m]).log_softmax(1), t[m], reduction='sum')",
    "extrema": "return x[m].amax() + x[m].softmax(-1).min() + x[m][:, 2:5].sum(-1).max() + (x[m] > 3).any()",
    "along": "return torch.cat([x[m].sum(0), x[m].mean(0), x[m].amax(0), F.layer_norm(x[m], (8,)).sum(0)])",
    "in place": "a = x[m]; a[:, 0] = 0; a[:, 1:3] += 1; b = a; b *= 2; a.clamp_(-1); return a.sum(0) + x.sum((0, 1))",
    "selected": "return torch.masked_select(x, m[..., None]).mean() + x[x > 0.5].sum() + x[m].pow(2).sum(-1).sqrt().mean()",
    "places": "return (x[m].gather(1, t[m][:, None]) * x[m].argmax(1, keepdim=True)).sum()",
}
REFUSED = {
    "x[m]": "returns what a mask selects",
    "x.sum() / x[m].shape[0]": "how many elements",
    "x.sum() / len(x[m])": "how many elements",
    "(x[m] * x[t > 2]).sum()": "two masks",
    "x[m].sort(0).values.sum()": "sort of what a mask selects",
    "x[m].std()": "std of what a mask selects",
    "x.index_put((t > 2,), x[m])": "by another one",
}


@pytest.mark.parametrize("name", FORWARD)
def test_is_computed_for_all_rows(tritogen, tmp_path, name):
    source = HEAD + "".join(f"        {line.strip()}\n" for line in FORWARD[name].split(";")) + TAIL
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, source, "--strict")), said
    check(
        tmp_path,
        """
one, other = pair()
for share in (0.0, 1.0):
    inputs = torch.randn(4, 6, 8), torch.randn(4, 6, 8) + share, torch.randint(0, 5, (4, 6))
    assert alike(one, other, *inputs)
""",
    )


def test_what_has_a_size_of_its_own_is_refused(tritogen, tmp_path):
    for expression, why in REFUSED.items():
        said = convert(tritogen, tmp_path, f"{HEAD}        return {expression}\n{TAIL}")
        assert why in said and "depends on values" in said, f"{expression}: {said}"
