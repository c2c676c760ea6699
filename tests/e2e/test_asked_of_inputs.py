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
