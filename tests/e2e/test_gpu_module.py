"""The shipped module where its users call it: on a GPU, by Triton's own launches and by those that are kept.

Needs a GPU: TRITOGEN_DEVICE=cuda pytest tests/e2e/test_gpu_module.py
"""

import os
import subprocess
import sys

import pytest

from .conftest import ROOT

pytestmark = pytest.mark.skipif(os.environ.get("TRITOGEN_DEVICE") != "cuda", reason="needs a GPU")

CHECK = """
import copy, importlib, sys, torch
sys.path.insert(0, sys.argv[1])
name = sys.argv[2]
original, shipped = importlib.import_module(name), importlib.import_module(name + "_out")
torch.manual_seed(3)
arguments = original.get_init_inputs()
model = original.Model(*arguments).cuda()
ours = shipped.Model(*arguments).cuda()
ours.load_state_dict(model.state_dict())
to_gpu = lambda v: v.cuda() if torch.is_tensor(v) else type(v)(map(to_gpu, v)) if isinstance(v, (list, tuple)) else v
leaves = lambda v: [v] if torch.is_tensor(v) else [l for x in v for l in leaves(x)] if isinstance(v, (list, tuple)) else []
inputs = [to_gpu(v) for v in original.get_inputs()]
ran = []  # by the kernels, not by the original
run = shipped.Model._run_kernels
shipped.Model._run_kernels = lambda self, *given: (ran.append(1), run(self, *given))[1]

def near(one, other):
    assert len(leaves(one)) == len(leaves(other)) > 0
    return all(torch.allclose(a.float(), b.float(), rtol=1e-3, atol=1e-3) for a, b in zip(leaves(one), leaves(other)))

def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(leaves(one), leaves(other)))

state = copy.deepcopy(model.state_dict())
def call(module):
    module.load_state_dict(state)  # a call in training may change it
    torch.manual_seed(4)
    return module(*inputs)

with torch.no_grad():
    expected = call(model)
    first = call(ours)
    assert len(ran) == 1 and near(first, expected)
    for _ in range(3):
        assert same(call(ours), first), "kept launches give other bits"
    assert len(ran) == 4 and shipped._KEPT
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        again = call(ours)
    side.synchronize()
    assert same(again, first), "on another stream"
    ours.load_state_dict(state)
    if not any(word in open(original.__file__).read() for word in ("dropout", "Dropout")):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = ours(*inputs)
        ours.load_state_dict(state)
        graph.replay()
        assert same(captured, first), "as a CUDA graph"
    copied = copy.deepcopy(ours)
    assert same(call(copied), first), "a copy"
    # An address that is no multiple of 16 is the original's business.
    x = leaves(inputs)[0]
    moved = torch.empty(x.numel() + 1, device="cuda", dtype=x.dtype)[1:].view(x.shape).copy_(x)
    count = len(ran)
    if x is inputs[0] and x.is_contiguous() and x.is_floating_point():
        ours.load_state_dict(state)
        torch.manual_seed(4)
        assert near(ours(moved, *inputs[1:]), expected) and len(ran) == count
print("right")
"""


def check(tmp_path, folder, name):
    done = subprocess.run([sys.executable, "-c", CHECK, folder, name], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "right" in done.stdout, done.stderr


@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "examples").glob("*.py") if p.stem != "softplus_gate"))
def test_the_module_gives_the_originals_answers(tritogen, tmp_path, name):
    finished = tritogen("convert", ROOT / f"examples/{name}.py", "-o", f"{name}_out.py", "--proposer", "teacher", "--device", "cuda", "--no-compile")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    check(tmp_path, ROOT / "examples", name)


# In hybrid mode proposers are asked twice about what the catalogue has no name for, and torch.compile is timed once beside all answers.
def test_a_program_with_library_calls_is_timed_beside_torch_compile(tritogen, tmp_path):
    (tmp_path / "tagger.py").write_text(
        """
import torch, torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(64, 96, bidirectional=True), nn.Linear(192, 32)
    def forward(self, x):
        return torch.special.i0e(self.head(self.rnn(x)[0]))

def get_inputs(): return [torch.randn(50, 16, 64)]
def get_init_inputs(): return []
"""
    )
    finished = tritogen("convert", "tagger.py", "-o", "tagger_out.py", "--proposer", "teacher", "-n", "1", "--device", "cuda")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "timing torch.compile" in finished.stderr
    check(tmp_path, tmp_path, "tagger")
