"""convert: what it writes can be imported in place of the original; what it refuses leaves no file."""

import json
import pathlib
import shutil

import pytest

from .. import warm_python
from . import programs
from .conftest import ROOT, runner

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py") if not path.stem.endswith("_triton"))

TEACHER = ("--proposer", "teacher")  # where who wrote the candidates does not matter: the policy takes seconds a program


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """An example by its name → the module that it became, once for all tests, which leave its folder as it is."""
    folders = {}

    def convert(name: str) -> pathlib.Path:
        if name not in folders:
            folder = tmp_path_factory.mktemp("example")
            function = ["--function", "softplus_gate"] if name == "softplus_gate.py" else []
            run = runner(folder, tmp_path_factory.mktemp("cache"))
            finished = run("convert", ROOT / "examples" / name, "-o", "out.py", *TEACHER, *function)
            assert finished.returncode == 0, finished.stdout + finished.stderr
            assert "passed" in finished.stdout
            folders[name] = folder
        return folders[name] / "out.py"

    return convert


def run_beside(folder: pathlib.Path, code: str) -> None:
    exit_code, said = warm_python.run(code, folder)
    assert exit_code == 0, said


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_becomes_a_module(converted, name):
    module = converted(name)
    assert "@triton.jit" in module.read_text()
    assert list(module.parent.iterdir()) == [module]


@pytest.mark.parametrize("mode", ["--strict", "--hybrid"])
def test_a_program_that_nobody_knows_is_no_fault_of_the_infrastructure(tritogen, tmp_path, mode):
    (tmp_path / "ldl.py").write_text(programs.REFERENCE.replace("torch.relu(x) * 2.0", "torch.linalg.ldl_factor(x[:, :16])[0]"))
    finished = tritogen("convert", "ldl.py", mode)
    assert finished.returncode == 1, finished.stderr
    assert "linalg_ldl_factor_ex" in finished.stdout and "no proposer had a candidate" in finished.stdout
    assert not (tmp_path / "ldl_triton.py").exists()


def test_the_module_takes_the_originals_weights_and_falls_back_on_the_cpu(converted, tmp_path):
    for file in (converted("mlp_gelu.py"), ROOT / "examples/mlp_gelu.py"):
        shutil.copy(file, tmp_path)
    check = """
import torch, mlp_gelu, out
original, shipped = (m.Model(*m.get_init_inputs()) for m in (mlp_gelu, out))
shipped.load_state_dict(original.state_dict())
x = torch.randn(3, *mlp_gelu.get_inputs()[0].shape[1:], requires_grad=True)
assert torch.equal(original(x), shipped(x))
shipped(x).sum().backward()
assert x.grad is not None and type(shipped).__name__ == "Model"
"""
    run_beside(tmp_path, check)


def test_the_module_launches_again_what_triton_has_compiled(converted, tmp_path):
    shutil.copy(converted("mlp_gelu.py"), tmp_path)
    check = """
import contextlib, torch, triton, out
torch.cuda.device = lambda device: contextlib.nullcontext()
out._fits = lambda value, expected: True  # as if a CPU's tensors were what was verified
launches = []

class Kernel:
    def __init__(self, function): self.function = function
    def __getitem__(self, grid):
        def launch(**named):
            launches.append(("first", self.function.__name__, grid, [named.pop(name) for name in self.function.arg_names]))
            assert set(named) <= {"num_warps", "num_stages"}
            return Compiled(self.function)
        return launch

class Compiled(Kernel):
    def __getitem__(self, grid): return lambda *values: launches.append(("again", self.function.__name__, grid, list(values)))

for name, value in list(vars(out).items()):
    if isinstance(value, triton.JITFunction): setattr(out, name, Kernel(value))

def call(*inputs):
    launches.clear()
    model(*inputs)
    return [launch[0] for launch in launches], [launch[1:3] for launch in launches], [v for launch in launches for v in launch[3]]

model = out.Model(*out.get_init_inputs())
x = out.get_inputs()[0]
how, which, first = call(x)
assert how and set(how) == {"first"}
how, again, values = call(x)
assert set(how) == {"again"} and again == which
assert [v for v in values if not torch.is_tensor(v)] == [v for v in first if not torch.is_tensor(v)]
owner = next(m for m in model.modules() if isinstance(m, torch.nn.Linear))
owner.weight = torch.nn.Parameter(owner.weight.detach().clone())
assert any(v is owner.weight for v in call(x)[2]), "a parameter that was replaced is read where it is now"
del model._modules[next(name for name, m in model.named_modules() if m is owner)]
assert None in out._state(model)
"""
    run_beside(tmp_path, check)


def test_the_module_runs_the_original_where_it_is_made_otherwise(tritogen, tmp_path):
    """Arguments of the constructor, parts, hooks and modes decide what is computed, too; weights are looked at elsewhere."""
    body = """import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self, width, dim=1, scale=2.0):
        super().__init__()
        self.up, self.act, self.norm = nn.Linear(width, width), nn.ReLU(), nn.BatchNorm1d(width)
        self.dim, self.scale = dim, scale
    def forward(self, x):
        return torch.softmax(self.norm(self.act(self.up(x))), dim=self.dim) * self.scale
def get_inputs(): return [torch.randn(32, 32)]
def get_init_inputs(): return [32]
"""
    (tmp_path / "made.py").write_text(body)
    finished = tritogen("convert", "made.py", "-o", "out.py", *TEACHER)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    check = """
import copy, gc, pickle, torch, torch.nn as nn, weakref, out
from torch.nn.utils import prune
out._fits = lambda value, expected: True  # as if a CPU's tensors were what was verified
out.Model._run_kernels = lambda self, *args: "kernels"
x = out.get_inputs()[0]
def launches(model): return isinstance(model(x), str)

for same in (out.Model(32), out.Model(width=32), out.Model(32, 1, scale=2.0)): assert launches(same)
for other in (out.Model(32, 0), out.Model(32, dim=0), out.Model(32, scale=3.0), out.Model(32, 1, 2)): assert not launches(other)

model = out.Model(32)
for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
    assert launches(copied)
    replaced = weakref.ref(copied.up)
    copied.up = nn.Linear(32, 32)
    assert not launches(copied) and launches(model)
    gc.collect()
    assert replaced() is None, "its memory is free"
hook = model.up.register_forward_hook(lambda *_: None)
assert not launches(model)
hook.remove()
model.register_forward_hook(lambda *_: None)
assert launches(model), "its own hooks run around it"
model.norm.eval()
assert not launches(model)
model.norm.train()
assert launches(model)
prune.random_unstructured(model.up, "weight", 0.5)
assert not launches(model)
model = out.Model(32)
torch.is_autocast_enabled = lambda device: True
assert not launches(model)
"""
    run_beside(tmp_path, check)


def test_html_shows_the_candidates_and_the_module(tritogen, tmp_path):
    finished = tritogen("convert", ROOT / "examples/mlp_gelu.py", "-o", "out.py", "--html", "report.html", *TEACHER)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    page = (tmp_path / "report.html").read_text()
    assert "mlp_gelu.py" in page and "Shipped module" in page and "Candidates" in page


def test_show_program_prints_pytorch_that_runs(tritogen, tmp_path):
    finished = tritogen("convert", ROOT / "examples/rotary.py", "-o", "out.py", "--show-program", *TEACHER)
    program = finished.stdout[: finished.stdout.index("proposer")]
    check = f"{program}\nimport sys; sys.path.insert(0, {str(ROOT / 'examples')!r})\nimport rotary\n" + (
        "torch.manual_seed(0)\nmodel = rotary.Model(*rotary.get_init_inputs())\ninputs = rotary.get_inputs()\n"
        "state = [*model.parameters(), *model.buffers()]\n"
        "pairs = zip(program(*inputs, *state), model(*inputs), strict=True)\n"
        "assert all(torch.allclose(one, other, atol=1e-6) for one, other in pairs)\n"
    )
    run_beside(tmp_path, check)


def test_show_program_leaves_stdout_to_json(tritogen, tmp_path):
    (tmp_path / "relu.py").write_text(programs.REFERENCE)
    finished = tritogen("convert", "relu.py", "--show-program", "--json", "-n", "1", *TEACHER)
    assert json.loads(finished.stdout)["out"] == "relu_triton.py" and "def program" in finished.stderr


@pytest.mark.parametrize("option", ["-o", "--html"])
def test_the_original_is_never_written_over(tritogen, tmp_path, option):
    (tmp_path / "relu.py").write_text(programs.REFERENCE)
    finished = tritogen("convert", "relu.py", option, "./relu.py", *TEACHER)
    assert finished.returncode == 2 and "name another file" in finished.stderr
    assert (tmp_path / "relu.py").read_text() == programs.REFERENCE


def test_what_nobody_rewrites_is_named(tritogen, tmp_path):
    """A program with kernels of its own, as convert writes them."""
    (tmp_path / "relu.py").write_text(programs.REFERENCE)
    assert tritogen("convert", "relu.py", "-n", "1", *TEACHER).returncode == 0
    finished = tritogen("convert", "relu_triton.py", *TEACHER)
    assert finished.returncode == 1 and "launches Triton kernels of its own" in finished.stdout, finished.stdout


def test_constants_made_in_forward_on_the_cpu_are_kept(tritogen, tmp_path):
    """Beside parameters, which are moved to the device before the printed module makes its constants."""
    body = """import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self, least):
        super().__init__()
        self.up = nn.Linear(12, 20)
        self.least = least
    def forward(self, x):
        return torch.min(self.up(x), torch.tensor(self.least)) * 2.0
def get_inputs():
    return [torch.randn(6, 12)]
def get_init_inputs():
    return [0.5]
"""
    (tmp_path / "least.py").write_text(body)
    finished = tritogen("convert", "least.py", "-o", "out.py", "-n", "1", "--proposer", "teacher")
    assert finished.returncode == 0 and "wrote out.py" in finished.stdout, finished.stdout + finished.stderr


def test_buffers_that_are_not_saved_are_read_from_the_module(tritogen, tmp_path):
    """The candidate's own buffer, for the constant of forward, is none of the printed module's."""
    body = """import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("angles", torch.arange(6).float().cos(), persistent=False)
    def forward(self, x):
        return x * self.angles + torch.tensor([0.5, 1.0], device=x.device).sum(), None
def get_inputs():
    return [torch.randn(4, 6)]
def get_init_inputs():
    return []
"""
    (tmp_path / "angles.py").write_text(body)
    finished = tritogen("convert", "angles.py", "-o", "out.py", "-n", "1", "--proposer", "teacher", "--strict")
    assert finished.returncode == 0 and "wrote out.py" in finished.stdout, finished.stdout + finished.stderr
    assert '((), "angles"),' in (tmp_path / "out.py").read_text().partition("# Triton kernels.")[2]


# What Triton's own interpreter cannot run (it keeps some masks as floats), so that tests/teacher has no oracle for it.
SORTS = """import torch
import torch.nn.functional as F


def f(x, y):
    return (torch.sort(x * 2, 1), torch.sort(x, 0, descending=True), x.topk(3), x.topk(2, 0, largest=False), x.argsort(1),
            torch.sort((x > 0).float(), dim=1, stable=True), F.hinge_embedding_loss(x, y.sign()))


def get_inputs():
    return [torch.randn(4, 9), torch.randn(4, 9)]
"""


COPIES = """import torch


def f(x, y):
    return x * 2, torch.nn.functional.pixel_unshuffle(x[None], 1), y.t()


def get_inputs():
    return [torch.randn(4, 8, 9), torch.randn(4, 9)]
"""


@pytest.mark.parametrize("value", ["0.5", "[[0.5, 1.0], [0.25, 2.0]]", "[0.5, 2.0], dtype=torch.float16", "[0.5, 2.0], dtype=torch.bfloat16"])
def test_constants_of_the_forward_pass_are_written(tritogen, tmp_path, value):
    """The teacher views what it writes as a list; the view is a step of its answer."""
    text = programs.REFERENCE.replace("torch.relu(x) * 2.0", f"torch.minimum(x, torch.tensor({value}).to(x.device))")
    (tmp_path / "program.py").write_text(text.replace("16, 100", "16, 2, 2"))
    finished = tritogen("convert", "program.py", "-o", "out.py", "--strict", "--device", "cpu", *TEACHER)
    assert finished.returncode == 0 and (tmp_path / "out.py").exists(), finished.stdout + finished.stderr


def test_long_constants_are_written_as_their_bytes(tritogen, tmp_path):
    """A table that forward makes with numpy: too many numbers to be written as literals."""
    text = programs.REFERENCE.replace("torch.relu(x) * 2.0", "x * torch.tensor(numpy.hanning(5000), device=x.device).float()")
    (tmp_path / "program.py").write_text("import numpy\n" + text.replace("16, 100", "4, 5000"))
    finished = tritogen("convert", "program.py", "-o", "out.py", "--strict", "--device", "cpu", *TEACHER)
    assert finished.returncode == 0 and (tmp_path / "out.py").exists(), finished.stdout + finished.stderr


def test_what_the_program_makes_anew_is_no_input(tritogen, tmp_path):
    (tmp_path / "copies.py").write_text(COPIES)
    finished = tritogen("convert", tmp_path / "copies.py", "-o", "out.py", "--function", "f", "--strict", *TEACHER)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_sorting_is_all_in_triton(tritogen, tmp_path):
    (tmp_path / "sorts.py").write_text(SORTS)
    finished = tritogen("convert", tmp_path / "sorts.py", "-o", "out.py", "--function", "f", "--strict", *TEACHER)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "100%" in finished.stdout


# What the catalogue has no rows for. The weights are state under the names that weight_norm gives them.
IN_PARTS = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.utils.parametrizations.weight_norm(nn.Linear(12, 20))
        self.both = nn.Bilinear(20, 20, 6)

    def forward(self, x, mask):
        p = self.up(x).masked_fill(mask > 0, float("-inf")).softmax(-1)
        p = torch.nan_to_num(p)
        out = torch.zeros_like(p)
        out[:, :2] = torch.median(p, 1, keepdim=True).values
        out[0] = 1.0
        return self.both(p, out)


def get_inputs():
    return [torch.randn(5, 12), torch.randn(5, 20)]


def get_init_inputs():
    return []
"""


def test_operators_outside_the_catalogue_fall_into_parts_in_strict_mode(tritogen, tmp_path):
    (tmp_path / "parts.py").write_text(IN_PARTS)
    finished = tritogen("convert", "parts.py", "-o", "out.py", "--strict", "--proposer", "teacher", "-n", "2", "--device", "cpu")
    assert finished.returncode == 0 and "100%" in finished.stdout, finished.stdout + finished.stderr
    shown = tritogen("convert", "parts.py", "-o", "out.py", "--strict", "--proposer", "teacher", "-n", "1", "--show-program")
    assert "nan_to_num" in shown.stdout  # what the file calls


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (None, "No such file"),
        ("", "empty"),
        ("def (:\n", "1"),
        (programs.REFERENCE.replace("get_inputs", "other"), "get_inputs"),
        (programs.REFERENCE.replace("class Model", "class Other"), "Model"),
        (programs.REFERENCE.replace("return torch.relu(x) * 2.0", "return x.item()"), ":5"),
    ],
    ids=["missing", "empty", "syntax", "no_get_inputs", "no_class", "host_read"],
)
def test_a_file_that_cannot_be_converted_is_named_and_nothing_is_written(tritogen, tmp_path, text, word):
    if text is not None:
        (tmp_path / "program.py").write_text(text)
    finished = tritogen("convert", "program.py", "-o", "out.py")
    assert finished.returncode == 2
    assert "program.py" in finished.stderr and word in finished.stderr
    assert not (tmp_path / "out.py").exists()
