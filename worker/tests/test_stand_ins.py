"""Shape functions of PyTorch without sympy; whoever wants the real modules gets them."""

import subprocess
import sys
from pathlib import Path

import stand_ins

_RECORD = """
import sys, record
record.warm_up()
SOURCE = '''
import torch.nn as nn, torch, torch.nn.functional as F
class Model(nn.Module):
    def forward(self, x, y):
        return F.mse_loss(x, y) + torch.cdist(x, y).sum() + F.logsigmoid(x).mean() + x.repeat(2, 1).sum()
def get_inputs():
    return [torch.randn(8, 16), torch.randn(8, 16)]
'''
reply = record.record({"role": "reference", "source": SOURCE, "entry": "Model", "kind": "class"})
assert reply["ok"], reply
assert "sympy.core" not in sys.modules
import sympy
from torch.fx.experimental.symbolic_shapes import ShapeEnv
assert sympy.Symbol("a") + 1 == sympy.Symbol("a") + sympy.Integer(1)
assert issubclass(sympy.Symbol, sympy.Basic) and isinstance(ShapeEnv, type)
"""


def test_becomes_the_real_module_when_asked_for_more(tmp_path, monkeypatch):
    (tmp_path / "stood_in.py").write_text("answer = 2\nother = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "stood_in", stand_ins._StandIn("stood_in", {"answer": 1}, is_package=False))
    import stood_in

    assert stood_in.answer == 1
    assert not hasattr(stood_in, "__path__")
    assert (stood_in.other, stood_in.answer) == (3, 2)
    from stood_in import other

    assert other == 3


def test_recording_needs_no_sympy():
    folder = Path(stand_ins.__file__).parent
    subprocess.run([sys.executable, "-c", _RECORD], cwd=folder, check=True)
