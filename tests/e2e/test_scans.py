"""Scans that are walked along, verified: Triton's interpreter takes minutes for those that it has no operation for."""

FORWARD = {
    "products": "return (1 + 0.2 * x).cumprod(1), (1 - 0.1 * x).flip(1).cumprod(1).flip(1)",
    "extrema": "return *torch.cummax(x, 1), *torch.cummin(x, 1)",
    "sums_of_exponentials": "return torch.logcumsumexp(9 * x, 1), torch.logcumsumexp(torch.where(x[:3] > 1, float('-inf'), x[:3]), 1)",
    "across": "return 0.01 * x.T.cumsum(0), x.T.contiguous().cumsum(0) * 0.01",
    "across_few": "return x.contiguous().cumsum(0), x.flip(0).cumsum(0).flip(0), torch.logcumsumexp(x, 0), *torch.cummax(x, 0)",
    "what_is_made_of_one": "return x.softmax(1).cumsum(1).amax(1), torch.cumsum(x > 0, 1)",
}
# Pieces are read twice, or scanned first where they have a rest or no reduction says their total.
FEW = {
    "read_twice": "return x[:, :16384].cumsum(1), x[0, :15000].cumsum(0), x[0, :16384].half().cumsum(0)",
    "with_a_rest": "return x.cumsum(1), (0.5 * x[:, :16384]).cumsum(1), x[0].flip(0).cumsum(0)",
    "exponentials_of_few": "return torch.logcumsumexp(x, 1)",
}
MODULE = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        {forward}
def get_inputs(): return [torch.randn({sizes})]
def get_init_inputs(): return []
"""


def test_walks_pass(taught):
    modules = {name: MODULE.format(forward=forward, sizes="264, 4100") for name, forward in FORWARD.items()}
    modules |= {name: MODULE.format(forward=forward, sizes="2, 16411") for name, forward in FEW.items()}
    teacher = taught(modules, 1, "--strict")
    assert teacher["verdicts"] == {"passed": len(modules)}, teacher["examples"]
