"""The front end as Triton has it and as the recorder has it give the same TTIR; so do the shortcuts of `SourceFile`."""

import inspect
import json
import linecache
import pathlib
import subprocess
import sys

import pytest

from kernels import SourceFile

WORKER = pathlib.Path(__file__).resolve().parents[1]
KERNELS = '''
import torch, triton, triton.language as tl

@triton.jit
def clamp(v, low: tl.constexpr):
    return tl.maximum(v, low)

@triton.jit
def sums(x, y, n, stride, A: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * A + tl.arange(0, A)
    total = tl.zeros((A,), tl.float32)
    for start in range(0, n, B):
        columns = start + tl.arange(0, B)
        inside = (rows[:, None] * stride < 100000) & (columns[None, :] < n)
        v = tl.load(x + rows[:, None] * stride + columns[None, :], mask=inside, other=0.0)
        total += tl.sum(clamp(v, 0.0) * (columns % 7 - 3)[None, :], axis=1)
    pair = (total, A * 2)
    tl.store(y + rows, pair[0] + pair[1])  # the last line

class Model(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        sums[(2,)](x, y, x.shape[1], x.stride(0), A=16, B=32, debug=DEBUG)
        return y
'''
RECORD = """
import json, sys
sys.path.insert(0, {worker!r})
import front_end
if {plain}:
    front_end.install = lambda: None
import record
record.warm_up()
inputs = [{{"tensor": ["float32", [32, 100], [100, 1]]}}]
print(json.dumps([record.record({{"role": "candidate", "source": source, "entry": "Model", "kind": "class",
      "init_inputs": [], "inputs": inputs}}) for source in {sources!r}]))
"""


def recorded(plain: bool) -> list[dict]:
    plainly = KERNELS.replace("DEBUG", "False")
    sources = [plainly, KERNELS.replace("DEBUG", "True"), plainly.replace("tl.zeros", "tl.zeroes")]
    code = RECORD.format(worker=str(WORKER), plain=plain, sources=sources)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


def test_the_same_plans_and_errors_as_with_tritons_own_front_end():
    quick, plain = recorded(plain=False), recorded(plain=True)
    assert [reply["ok"] for reply in quick] == [True, True, False] and quick[:2] == plain[:2]
    with_debug = quick[1]["plan"]["kernels"][0]["ttir"]
    assert "overflow detected" in with_debug and "overflow detected" not in quick[0]["plan"]["kernels"][0]["ttir"]
    assert quick[2]["kind"] == "compile_error" and quick[2]["message"] == plain[2]["message"]


TEXTS = [
    "def f(x):\n    return x\n",
    "def f(x): return x\n",
    "def f(x):\n    return (\n        x\n    )\n\n\n# after\nprint\n",
    "import inspect\n\n@inspect.unwrap\n@inspect.unwrap\ndef f(x):\n    if x:\n        pass\n    # a comment of the block\n\nprint\n",
    "def f(x):\n    return x\n    # a comment of the block",
    "def f(x):\n    '''a\n\x0c    b'''\n    return x\nprint\n",
    "def f(x):\r\n    return x\r\nprint\r\n",
    "if True:\n    def f(x):\n        return x\n",
    "def f(x):\n    return x  # end of file",
    "def g(f):\n    return f\n@g\ndef f(x): a = 1; return x; \nprint\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_lines_of_a_function_are_those_of_inspect(text):
    name = "some_program.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict = {"__name__": "some_program"}
    file = SourceFile(text, name)
    exec(compile(file.tree, name, "exec"), scope)
    found = file.source_lines(scope["f"])
    assert found is None or found == inspect.getsourcelines(scope["f"])


def test_most_functions_need_no_tokenizer():
    text = TEXTS[2]
    scope: dict = {}
    file = SourceFile(text, "some_program.py")
    exec(compile(file.tree, file.name, "exec"), scope)
    assert file.source_lines(scope["f"]) == (text.splitlines(keepends=True)[:4], 1)
