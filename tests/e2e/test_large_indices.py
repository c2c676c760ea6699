"""Scatters and sorts of lines that are too long to compare all with all, verified on the tile machine."""

FORWARD = {
    # Messages of a graph; every node has its own sum, mean and extrema. Counts of integers.
    "graph": (
        "torch.randn(900, 8), torch.randint(0, 900, (2, 6000))",
        "m = x[i[0]] * 2; to = i[1][:, None].expand_as(m); z = torch.zeros_like(x); "
        "return z.index_add(0, i[1], m), x.scatter_reduce(0, to, m, 'amax'), x.scatter_reduce(0, to, m, 'amin', include_self=False), "
        "x.scatter_reduce(0, to, m, 'mean'), torch.zeros(900, dtype=torch.int64, device=x.device).scatter_add(0, i[1], i[0])",
    ),
    # Many entries for each of few elements: sums in several copies.
    "crowd": (
        "torch.randn(3000, 3), torch.randint(0, 2, (3000, 3))",
        "h = torch.histc(x.repeat(60, 1), bins=8, min=-2.0, max=2.0); z = torch.zeros(4, 3, device=x.device); "
        "return h, x[:2].scatter_add(0, i, x), z.scatter_add(0, i.repeat(130, 1) * 3, x.repeat(130, 1)) * 1e-3",
    ),
    # The last of equal places wins; rows of a cache; every third element of a line is named.
    "written": (
        "torch.randn(9000, 4), torch.randperm(9000)[:700][None]",
        "c = x.clone(); c[i[0]] = x[:700] * 3; "
        "return c, x.scatter(0, torch.arange(2100, device=x.device)[:, None].expand(2100, 4) * 3, x), x.scatter(0, i[0][:, None].expand(700, 4), 7.0)",
    ),
    # Equal elements, NaN and infinities, in halves of their order; few places of a long line, and many.
    "order": (
        "torch.randn(5000, 2), torch.randint(0, 60, (1, 4500))",
        "x = torch.where(x > 2, float('nan'), torch.where(x < -2.2, float('-inf'), (x * 4).round() / 4)); "
        "a, j = torch.sort(x, dim=0, stable=True); d, k = torch.sort(x, dim=0, descending=True, stable=True); "
        "return a.nan_to_num(9.0), j, d.nan_to_num(9.0), k, torch.sort(i, stable=True)[1]",
    ),
    "few_places": (
        "torch.randn(2, 6000), torch.randint(0, 9, (3, 9))",
        "return *x.topk(20), *x.topk(3, largest=False), *(x.t() * 2).topk(300, dim=0), x.topk(900)[0]",
    ),
}
MODULE = """import torch
class Model(torch.nn.Module):
    def forward(self, x, i):
        {forward}
def get_inputs(): return [{inputs}]
def get_init_inputs(): return []
"""


def test_large_scatters_and_sorts_pass(taught):
    teacher = taught({name: MODULE.format(inputs=inputs, forward=forward) for name, (inputs, forward) in FORWARD.items()}, 1, "--strict")
    assert teacher["verdicts"] == {"passed": len(FORWARD)}, teacher["examples"]
