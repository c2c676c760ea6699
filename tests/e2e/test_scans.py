"""Scans that are walked along, verified: Triton's interpreter takes minutes for those that it has no operation for."""

import json

FORWARD = {
    "products": "return (1 + 0.2 * x).cumprod(1), (1 - 0.1 * x).flip(1).cumprod(1).flip(1)",
    "extrema": "return *torch.cummax(x, 1), *torch.cummin(x, 1)",
    "sums_of_exponentials": "return torch.logcumsumexp(9 * x, 1), torch.logcumsumexp(torch.where(x[:3] > 1, float('-inf'), x[:3]), 1)",
    "what_is_made_of_one": "return x.softmax(1).cumsum(1).amax(1), torch.cumsum(x > 0, 1)",
}
MODULE = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        {forward}
def get_inputs(): return [torch.randn(264, 4100)]
def get_init_inputs(): return []
"""


def test_walks_pass(tritogen, tmp_path):
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    for name, forward in FORWARD.items():
        (tasks / f"{name}.py").write_text(MODULE.format(forward=forward))
    command = ("eval", "--suite", "kernelbench", tasks, "--proposer", "teacher", "-n", "1", "--strict", "--json")
    done = tritogen(*command, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["left_out"] == 0
    assert summary["proposers"]["teacher"]["verdicts"] == {"passed": len(FORWARD)}, summary["proposers"]["teacher"]["examples"]
