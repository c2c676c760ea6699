"""Sorting of long lines, verified: in pieces, by networks and by ranks. Triton's interpreter takes minutes for them."""

FORWARD = {
    "few": "return *x.topk(20), *x.topk(5, largest=False)",
    "few_of_a_constant": "return torch.topk(torch.where(x > 9, x, float('-inf')), 3).values",
    "few_twice": "return x.reshape(1, -1)[:, :34000].topk(300)",
    "all": "return torch.sort(x[:, :5000])",
    "all_with_ties": "return torch.round(4 * x).argsort(descending=True, stable=True)",
    "with_places": "return *x[:, :2048].sort(stable=True), torch.argsort(1e6 + x[:, :1500], stable=True, descending=True), torch.argsort(x[:, :4096].relu(), stable=True)",
    "with_places_by_halves": "return torch.sort(torch.where(x > 3, 1e30, torch.where(x < -3, float('nan'), 1 + x * 1e-6))[:, :2048], stable=True)[1]",
    "half": "return *x[:, :4100].half().sort(stable=True), x.bfloat16().topk(9).values",
    "values_alone": "return x[:, :300].sort()[0], x[:, :5000].half().sort()[0], (9 * x[:, :5000]).int().sort(descending=True)[0], (1.1 * x[:, :99].bfloat16()).sort()[0]",
    "few_of_pieces": "return x[:, :8999].topk(300), x.half().topk(9, largest=False)[1], x.view(-1).topk(40)",
    "single_places": "return x.median(1), x.kthvalue(7, 1)[0], x[:, :300].half().nanmedian(1)[0], x.T.median(0)[0]",
    "integers": "return (90 * x).int().sort(descending=True, stable=True)",
    "wide_integers": "return (90 * x).long().sort(stable=True)",
    "wide_and_few": "return x.double().topk(7)",
    "short_by_ranks": "return *torch.sort(x[:, :20], 1), x[:, :20].argsort(0, descending=True)",
}
MODULE = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        {forward}
def get_inputs(): return [torch.randn(4, 9000)]
def get_init_inputs(): return []
"""


def test_sorts_pass(taught):
    teacher = taught({name: MODULE.format(forward=forward) for name, forward in FORWARD.items()}, 1, "--strict")
    assert teacher["verdicts"] == {"passed": len(FORWARD)}, teacher["examples"]
