"""Padding that goes round, which PyTorch writes slice by slice: one kernel."""

import pytest

from .shipped import HEAD, check, convert

TAIL = "\ndef get_inputs(): return [torch.randn(2, 3, 7, 9)]\ndef get_init_inputs(): return []\n"
FORWARD = {
    "one": "torch.nn.functional.pad(x, (2, 3, 1, 0), mode='circular')",
    "of one dimension": "torch.nn.functional.pad(x[0], (4, 0), mode='circular')",
    "of three": "torch.nn.functional.pad(x, (1, 2, 2, 1, 1, 1), mode='circular') * 2 + 1",
    "of a slice": "torch.nn.functional.pad(x[1:, :, 2:6], (2, 1, 0, 1), mode='circular')",
    "of some more than there is": "torch.nn.functional.pad(x[:, :, 1:4, 3:], (6, 5, 3, 2), mode='circular')",
    "less of the end": "torch.nn.functional.pad(x, (2, -3, -1, 4), mode='circular')",
    "of both halves": "torch.nn.functional.pad((h := x.tensor_split(2, 1))[0], (2, 1, 0, 0), mode='circular')"
    " - 2 * torch.nn.functional.pad(h[1][:, :1], (2, 1, 0, 0), mode='circular')",
}


@pytest.mark.parametrize("name", FORWARD)
def test_is_one_kernel(tritogen, tmp_path, name):
    source = f"{HEAD}class Model(nn.Module):\n    def forward(self, x):\n        return {FORWARD[name]}\n{TAIL}"
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, source, "--strict")), said
    assert (tmp_path / "shipped.py").read_text().count("@triton.jit") == 1
    check(tmp_path, "one, other = pair()\nassert alike(one, other, torch.randn(2, 3, 7, 9)) and len(ran) == 1\n")


def test_turned_by_hand(tritogen, tmp_path):
    source = f"""{HEAD}class Model(nn.Module):
    def forward(self, x):
        turned = torch.empty_like(x)
        turned[..., 2:] = x[..., :-2]
        turned[..., :2] = x[..., -2:]
        return turned * 2
{TAIL}"""
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, source, "--strict")), said
    assert (tmp_path / "shipped.py").read_text().count("@triton.jit") == 1
    check(tmp_path, "one, other = pair()\nassert alike(one, other, torch.randn(2, 3, 7, 9)) and len(ran) == 1\n")


def test_in_front_of_a_convolution(tritogen, tmp_path):
    source = f"""{HEAD}class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular")
    def forward(self, x):
        return self.conv(x).relu()
{TAIL}"""
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, source, "--strict")), said
    check(tmp_path, "one, other = pair()\nassert alike(one, other, torch.randn(2, 3, 7, 9)) and len(ran) == 1\n")
