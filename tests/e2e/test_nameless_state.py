"""Tensors that a module keeps under no name: plain attributes, and a table that its first call makes."""

import json

MODULE = """import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.order = torch.tensor([2, 0, 1])
        self.table = torch.zeros(10, 6)
        self.table[:, 0::2] = torch.sin(torch.arange(10.0)[:, None])
        self.angles = None
    def forward(self, x):
        if self.angles is None:
            self.angles = torch.outer(torch.arange(7, device=x.device), torch.ones(6, device=x.device)).cos()
        y = (x + self.table[:7].to(x.device)) * self.angles + torch.randn_like(x)
        return y[..., self.order.to(x.device)]
def get_inputs(): return [torch.randn(2, 7, 6)]
def get_init_inputs(): return []
"""


def test_the_call_makes_them_itself(tritogen, tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    done = tritogen("convert", tmp_path / "module.py", "--proposer", "teacher", "--strict", "--device", "cpu", "--json", "-n", "1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["candidates"][0]["verdict"]["verdict"] == "passed"
