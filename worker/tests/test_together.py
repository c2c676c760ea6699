"""Several candidates recorded in one process, one after the other, give the Plans that each gives alone."""

import record

HEAD = "import torch, triton, triton.language as tl\n"
KERNEL = '''
@triton.jit
def twice(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        twice[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
'''


def request(source: str) -> dict:
    inputs = [{"tensor": ["float32", [100], [1]]}]
    return {"role": "candidate", "source": source, "entry": "ModelNew", "kind": "class", "init_inputs": [], "inputs": inputs}


def test_the_same_as_alone():
    sources = [
        HEAD + KERNEL.replace("FACTOR", "2.0"),
        HEAD + KERNEL.replace("FACTOR", "3.0"),  # a kernel of the same name in the same place
        HEAD + "raise ValueError('no program')",
        HEAD + "\n# later\n" + KERNEL.replace("FACTOR", "2.0"),
        HEAD + KERNEL.replace("FACTOR", "2.0"),
    ]
    alone = [record.record(request(source)) for source in sources]
    together = record.record({"together": [request(source) for source in sources]})
    assert together == {"replies": alone}
    assert [reply["ok"] for reply in alone] == [True, True, False, True, True]
    assert alone[0] == alone[4] and alone[0]["plan"]["kernels"] != alone[1]["plan"]["kernels"]


REFERENCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
    def forward(self, x):
        return x * self.factor
def get_init_inputs():
    return [2.0]
def get_inputs():
    return [torch.randn(8, 12).t()]
"""
CANDIDATE = REFERENCE.split("def get_init_inputs")[0].replace("Model(", "ModelNew(")


def test_candidates_get_the_inputs_of_the_reference_before_them():
    reference = {"role": "reference", "source": REFERENCE, "entry": "Model", "kind": "class"}
    candidate = {"role": "candidate", "source": CANDIDATE, "entry": "ModelNew", "kind": "class"}
    inputs = {"init_inputs": [2.0], "inputs": [{"tensor": ["float32", [12, 8], [1, 12]]}]}
    alone = [record.record(reference), record.record({**candidate, **inputs})]
    assert alone[0]["ok"] and alone[1]["ok"]
    assert record.record({"together": [reference, candidate, candidate]}) == {"replies": [*alone, alone[1]]}


def test_nothing_is_recorded_behind_a_reference_that_fails():
    broken = {"role": "reference", "source": "raise ValueError('no')", "entry": "Model", "kind": "class"}
    (reply,) = record.record({"together": [broken, request(HEAD + KERNEL.replace("FACTOR", "2.0"))]})["replies"]
    assert not reply["ok"]
