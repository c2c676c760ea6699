"""State that a call changes and that its answers depend on: each call goes on from where the last one stopped."""

from .shipped import check, convert

MODULE = """import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(11, 5)
        self.register_buffer("h", torch.zeros(3, 5))
        self.register_buffer("queue", torch.randn(5, 8))
        self.register_buffer("place", torch.zeros(1, dtype=torch.long))
        self.register_buffer("average", torch.zeros(8))
    def forward(self, x):
        self.h = torch.sigmoid(self.cell(torch.cat([x, self.h], 1)))
        scores = self.h @ self.queue
        self.average.mul_(0.9).add_(scores.mean(0), alpha=0.1)
        self.queue[:, (self.place + torch.arange(3, device=x.device)) % 8] = self.h.T
        self.place[0] = (self.place[0] + 3) % 8
        return torch.cat([scores - self.average, self.average[None]])
def get_inputs(): return [torch.randn(3, 6)]
def get_init_inputs(): return []
"""


def test_each_call_goes_on_from_the_last_one(tritogen, tmp_path):
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, MODULE)), said
    check(
        tmp_path,
        """
one, other = pair()
for call in range(4):
    assert alike(one, other, torch.randn(3, 6)) and len(ran) == call + 1
for (name, kept), moved in zip(one.named_buffers(), other.buffers()):
    assert torch.allclose(kept, moved, atol=1e-5), name
""",
    )


NORM = """import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(5, affine=True, track_running_stats=True, momentum=0.3)
    def forward(self, x):
        return self.norm(x).relu()
def get_inputs(): return [torch.randn(3, 5, 8)]
def get_init_inputs(): return []
"""


def test_running_statistics_of_an_instance_norm_move(tritogen, tmp_path):
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, NORM, "--strict")), said
    check(
        tmp_path,
        """
one, other = pair()
for call in range(3):
    assert alike(one, other, torch.randn(3, 5, 8)) and len(ran) == call + 1
one.eval(), other.eval()
assert alike(one, other, torch.randn(3, 5, 8))
""",
    )
