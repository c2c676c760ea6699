"""Printed modules without a GPU: kernels run in Triton's interpreter, on tensors of the CPU that pass for the GPU's."""

import pathlib

from .. import warm_python

# A file around a class Model.
HEAD = "import torch, torch.nn as nn\n"
TAIL = "\ndef get_inputs(): return [torch.randn(16, 32)]\ndef get_init_inputs(): return []\n"

# `original` and `shipped` are the two files; `ran` has an entry for each call that the kernels made.
PRELUDE = """
import contextlib, importlib.util, os, sys
os.environ["TRITON_INTERPRET"] = "1"
import torch
torch.cuda.device = lambda device: contextlib.nullcontext()
ran = []

def load(path, name, change=lambda text: text):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    exec(compile(change(open(path).read()), path, "exec"), vars(module))
    return module

def on_the_cpu(text):
    assert text.count("            and value.is_cuda\\n") == 1
    return text.replace("            and value.is_cuda\\n", "")

original, shipped = load("original.py", "original"), load("shipped.py", "shipped", on_the_cpu)
owner = shipped.Model if isinstance(getattr(shipped, "Model", None), type) else shipped
run_kernels = owner._run_kernels
owner._run_kernels = lambda *given: (ran.append(1), run_kernels(*given))[1]

def pair(*arguments):
    torch.manual_seed(0)
    one, other = original.Model(*arguments), shipped.Model(*arguments)
    other.load_state_dict(one.state_dict())
    return one, other

def near(one, other):
    return type(one) is type(other) and one.shape == other.shape and torch.allclose(one, other, atol=1e-4)

def kernels_run(call, *arguments, **named):
    count = len(ran)
    with torch.no_grad():
        call(*arguments, **named)
    return len(ran) > count

def alike(one, other, *arguments, **named):
    with torch.no_grad():
        return near(one(*arguments, **named), other(*arguments, **named))
"""


def convert(tritogen, tmp_path: pathlib.Path, source: str, *options: str) -> str:
    """Converts a file; what was printed for its user."""
    (tmp_path / "original.py").write_text(source)
    command = ("convert", "original.py", "-o", "shipped.py", "--proposer", "teacher", "--device", "cpu", "-n", "1")
    finished = tritogen(*command, *options)
    return finished.stdout + finished.stderr


def check(tmp_path: pathlib.Path, code: str) -> None:
    exit_code, said = warm_python.run(PRELUDE + code, tmp_path, seconds=240)
    assert exit_code == 0, said
