"""References that have parts of themselves compiled: the same program, whose state has names that begin otherwise."""

from .shipped import check, convert

MODULE = """import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.compile(nn.Sequential(nn.Linear(6, 8), nn.SiLU()), backend="eager")
        self.down = nn.Linear(8, 6)
        self.down.compile(backend="eager")
    @torch.compile(backend="eager", dynamic=False)
    def mix(self, x, y):
        return x + y * 0.5
    def forward(self, x):
        return self.mix(x, self.down(self.up(x)))
def get_inputs(): return [torch.randn(3, 6)]
def get_init_inputs(): return []
"""


def test_what_is_compiled_is_recorded_as_it_is_written(tritogen, tmp_path):
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, MODULE, "--strict")), said
    check(
        tmp_path,
        """
one, other = pair()
assert "up._orig_mod.0.weight" in other.state_dict()
assert alike(one, other, torch.randn(3, 6)) and len(ran) == 1
""",
    )
