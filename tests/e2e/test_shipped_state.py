"""Printed modules whose original changes something at each call: state, arguments, or what is refused."""

import pytest

from . import programs
from .shipped import HEAD, TAIL, check, convert

UPDATES = HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(32)
        self.register_buffer("step", torch.zeros((), dtype=torch.long))
        self.register_buffer("average", torch.zeros(32))
        self.register_buffer("largest", torch.zeros(32), persistent=False)
        self.register_buffer("rebound", torch.zeros(32))
        self.register_buffer("by_data", torch.zeros(32))
    def forward(self, x):
        if self.training:
            self.step += 1
            self.average.mul_(0.999).add_(x.mean(0), alpha=0.001)
            torch.maximum(self.largest, x.amax(0), out=self.largest)
            self.rebound = self.rebound * 0.9 + x.mean(0) * 0.1
            self.by_data.data = self.by_data * 0.5 + 1
        return torch.relu(self.norm(x))
""" + TAIL  # fmt: skip


def test_state_that_forward_changes_is_changed_by_the_module(tritogen, tmp_path):
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, UPDATES)), said
    check(
        tmp_path,
        """
one, other = pair()
other.norm.num_batches_tracked.fill_(10**6)
one.norm.num_batches_tracked.fill_(10**6)
for call in range(3):
    x = torch.randn(16, 32)
    assert alike(one, other, x) and len(ran) == call + 1
states = [dict(model.named_buffers()) for model in (one, other)]
assert list(states[0]) == list(states[1]) and states[1]["norm.num_batches_tracked"] == 10**6 + 3 and states[1]["step"] == 3
for name in states[0]:
    assert torch.allclose(states[0][name].float(), states[1][name].float(), atol=1e-6), name
""",
    )


@pytest.mark.parametrize("change, name", [
    ("self.calls += 1", "self.calls"), ("self.last = y", "self.last"), ("self.log.append(x.shape[0])", "self.log"),
    ("self.seen.add_(1)", "self.seen"), ("global COUNT; COUNT += 1", "COUNT"),
])  # fmt: skip
def test_what_else_forward_changes_is_refused(tritogen, tmp_path, change, name):
    source = HEAD + f"""
COUNT = 0
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.last, self.log, self.seen = 0, None, [], torch.zeros(3)
    def forward(self, x):
        y = torch.relu(x) * 2
        {change}
        return y
""" + TAIL  # fmt: skip
    said = convert(tritogen, tmp_path, source)
    assert f"each call of the original changes {name}" in said and not (tmp_path / "shipped.py").exists(), said


WRITES = HEAD + """
class Model(nn.Module):
    def forward(self, x, y):
        x.mul_(2)
        return torch.relu(x + y)
def get_inputs(): return [torch.randn(16, 32), torch.randn(16, 32)]
def get_init_inputs(): return []
"""


def test_arguments_that_share_memory_where_one_is_written(tritogen, tmp_path):
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, WRITES)), said
    check(
        tmp_path,
        """
one, other = pair()
def given(first):
    base = torch.arange(1100.0)
    return base, base[:512].view(16, 32), base[first:first + 512].view(16, 32)
for first, kernels in ((0, False), (32, False), (508, False), (512, True), (544, True)):
    count = len(ran)
    (a, *ours), (b, *theirs) = given(first), given(first)
    assert near(one(*ours), other(*theirs)) and torch.equal(a, b) and (len(ran) > count) == kernels, first
""",
    )


def test_state_with_other_values_is_not_written(tritogen, tmp_path, judge):
    """Kernels that update it, wrongly: the original's own update cannot stand behind that."""
    reference = programs.REFERENCE.replace(
        "    def forward(self, x):\n",
        "    def __init__(self):\n        super().__init__()\n        self.register_buffer('mean', torch.zeros(100))\n"
        "    def forward(self, x):\n        self.mean.add_(x.mean(0))\n",
    )
    body = reference.partition("class Model")[2].partition("return torch.relu")[0].replace("x.mean(0)", "x.sum(0)")
    text = programs.HEAD + "class ModelNew" + body.rstrip() + "\n" + programs.candidate().partition("def forward(self, x):\n")[2]
    verdict = judge({"sum": (reference, text)})["sum"]
    assert verdict["verdict"] == "passed" and verdict["other_state"] == ["mean"] and verdict["unchanged_state"] == [], verdict
