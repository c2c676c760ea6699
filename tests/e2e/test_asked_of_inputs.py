"""Programs whose inputs are looked at more closely than others'."""
import json

MODULE = """import torch, torch.nn.functional as F
class Model(torch.nn.Module):
    def forward(self, x):
        return {result}
def get_inputs(): return [torch.rand({sizes})]
def get_init_inputs(): return []
"""


def test_places_between_neighbours_are_exact(taught):
    """Rounded to float32, a place among two thousand elements is off by more than the answer may be."""
    results = {
        "cubic": ("F.interpolate(x, (4, 3), mode='bicubic', align_corners=True)", "2, 5, 2048, 4"),
        "trilinear": ("F.interpolate(x, (7, 8, 24), mode='trilinear', align_corners=True)", "1, 1, 1000, 10, 5"),
    }
    teacher = taught({name: MODULE.format(result=result, sizes=sizes) for name, (result, sizes) in results.items()}, 1, "--strict")
    assert teacher["verdicts"] == {"passed": 2}, teacher["examples"]


def test_probabilities_have_trials_of_all_kinds(tritogen, tmp_path):
    """PyTorch refuses all but numbers from 0 to 1, on a GPU by an assertion that ends the context."""
    reference, candidate = tmp_path / "reference.py", tmp_path / "candidate.py"
    reference.write_text(MODULE.format(result="F.binary_cross_entropy(x[0], x[1])", sizes="2, 64, 100"))
    assert tritogen("convert", reference, "-o", candidate, "--proposer", "teacher", "--strict").returncode == 0
    done = tritogen("verify", reference, candidate, "--class-candidate", "Model", "--strict", "--no-cache", "--json")
    verdict = json.loads(done.stdout)
    assert verdict["verdict"] == "passed"
    assert {"spread", "shifted", "spikes", "swings"} <= set(verdict["outputs"][0]["budget_used"]), verdict["notes"]


LAYER = """import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.{layer}
    def forward(self, x):
        return self.layer(x){first}
def get_inputs(): return [torch.rand(4, 3, 8)]
def get_init_inputs(): return []
"""


def test_factors_far_beyond_half_types_are_for_who_decides_nothing_by_them(tritogen, tmp_path):
    """A gate whose sum is large is a jump: one rounding in the first layer of a GRU, and all that is behind it is another answer."""
    ran = {}
    for name, layer, first in (("linear", "Linear(8, 16)", ""), ("gru", "GRU(8, 16, 2)", "[0]")):
        reference, candidate = tmp_path / f"{name}.py", tmp_path / f"{name}_new.py"
        reference.write_text(LAYER.format(layer=layer, first=first))
        assert tritogen("convert", reference, "-o", candidate, "--proposer", "teacher", "--strict").returncode == 0
        done = tritogen("verify", reference, candidate, "--class-candidate", "Model", "--strict", "--no-cache", "--json")
        verdict = json.loads(done.stdout)
        assert verdict["verdict"] == "passed"
        ran[name] = set(verdict["outputs"][0]["budget_used"])
    assert "huge" in ran["linear"] and "huge" not in ran["gru"], ran
    assert "large" in ran["gru"], ran
