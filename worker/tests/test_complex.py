"""Programs with complex numbers inside: recorded as they are, and, where a request has `split`, as pairs of real ones."""

from __future__ import annotations

import pytest
import torch

import fourier
from programs import eager, ops, plan_of, reference, replayed

_FORWARDS = {
    "rfft": "return torch.fft.rfft(x).abs()",
    "irfft": "return torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(y), n=33)",
    "irfft of an even length": "return torch.fft.irfft(torch.fft.rfft(x, 64) * torch.fft.rfft(y, 64), 64)[..., :33]",
    "ifft": "return torch.fft.ifft(torch.complex(x, y)).imag",
    "fft2": "return torch.fft.fft2(x).real",
    "rfft2": "return torch.view_as_real(torch.fft.rfft2(x, norm='ortho'))",
    "irfft2": "return torch.fft.irfft2(torch.fft.rfft2(x), s=(6, 33))",
    "hfft": "return torch.fft.hfft(torch.complex(x, y))",
    "stft": "return torch.stft(x, 16, 4, window=torch.hann_window(16, device=x.device), return_complex=True).abs()",
    "istft": "w = torch.hann_window(16, device=x.device); return torch.istft(torch.stft(x, 16, 4, window=w, return_complex=True), 16, 4, window=w)",
    "rotary": "z = torch.view_as_complex(x[:, :32].reshape(6, 16, 2).contiguous()); return torch.view_as_real(z * torch.polar(torch.ones_like(y[:, :16]), y[:, :16])).flatten(1)",
    "arithmetic": "a, b = torch.complex(x, y), torch.complex(y, x * 2); c = (a * b - b / a + 2 * a - (1 + 2j) * b + 3) * (2 - b); return c.real, c.imag, c.abs(), c.angle()",
    "with real tensors": "a = torch.complex(x, y); b = a * x + y - a / (y.abs() + 1) + (x - a); return torch.view_as_real(b)",
    "functions": "z = torch.complex(x, y); return torch.exp(z).real, torch.log(z).imag, torch.sqrt(z).imag, torch.reciprocal(z).real, (z ** 3).imag, torch.sgn(z).real",
    "powers": "z = torch.complex(x, y); n = torch.arange(33, device=x.device) - 9; return (z ** n).real, (z[:, :1] ** y.abs()).imag, torch.view_as_real(z ** 0.5), (z ** z.flip(0)).imag, ((z * 0) ** (n.abs() + 1)).real, (z ** 0).real",
    "conjugates": "z = torch.complex(x, y); return (z.conj() * z.flip(0)).imag, z.conj().imag, (z.mH @ z).real, z.conj().resolve_conj().real",
    "products": "z = torch.complex(x, y); return (z @ z.T).abs(), torch.einsum('ij,kj->ik', z, z.conj()).real, F.linear(z, torch.complex(y, x)).imag, (z @ x.T.to(z.dtype)).real",
    "moves": "z = torch.complex(x, y); z = torch.cat([z.roll(1, 0), z.flip(1)[:3]]); z = torch.where(x.sum() > 0, z, 0.0); return torch.view_as_real(z.T.reshape(3, -1).sum(1)), z.mean(0).real",
    "inference mode": "z = torch.complex(x, y)\n        with torch.inference_mode(): return torch.view_as_real(z.t().detach()[1:])",
    "padding": "return torch.view_as_real(F.pad(torch.complex(x, y), (1, 2), value=3.0))",
    "in place": "z = torch.zeros(6, 33, dtype=torch.complex64, device=x.device); z[1:4] = torch.complex(x, y)[1:4]; z[2] *= 2j; z += x; z[0].copy_(y[0]); return torch.view_as_real(z)",
    "to and fro": "z = x.to(torch.complex64); return (z * 1j).imag, z.is_complex() * x, torch.view_as_real(z.to(torch.complex128)).float()",
    "compared": "z = torch.complex(x.round(), y.round()); return z == z.flip(0), (z != 0).sum(), torch.linalg.vector_norm(z, dim=1)",
}  # fmt: skip


def _source(forward: str) -> str:
    return f"""
class Model(nn.Module):
    def forward(self, x, y):
        {forward}

def get_inputs():
    return [torch.randn(6, 33), torch.randn(6, 33)]
"""


def _kinds(plan: dict) -> set[str]:
    return {dtype for _, dtype, *_ in plan["tensors"]}


@pytest.mark.parametrize("name", _FORWARDS)
def test_complex_numbers_inside_a_program(name):
    source = _source(_FORWARDS[name])
    whole = plan_of(reference(source))
    assert "complex64" in _kinds(whole)
    torch.testing.assert_close(replayed(whole, seed=3), eager(source, seed=3), equal_nan=True)


@pytest.mark.parametrize("name", _FORWARDS)
def test_pairs_of_real_numbers_say_the_same(name):
    source = _source(_FORWARDS[name])
    pairs = plan_of(reference(source, split=["aten::view_as_real"]))
    assert not {"complex64", "complex128"} & _kinds({"tensors": _in_calls(pairs)})
    assert not any("complex" in op or "fft_c2" in op or "fft_r2" in op for op in ops(pairs["run"]))
    torch.testing.assert_close(replayed(pairs, seed=3), eager(source, seed=3), rtol=2e-4, atol=2e-4, equal_nan=True)


def _in_calls(plan: dict) -> list:
    made = {out for step in plan["run"] for out in (step["outs"] if "outs" in step else [step["out"]]) if out >= 0}
    return [plan["tensors"][out] for out in made]


def test_tensors_of_setup_come_in_their_parts():
    source = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.turns = torch.polar(torch.ones(6, 33), torch.randn(6, 33))
        self.register_buffer("more", torch.polar(torch.ones(6, 33), torch.randn(6, 33)), persistent=False)

    def forward(self, x, y):
        return (torch.complex(x, y) * self.turns.to(x.device) * self.more).real

def get_inputs():
    return [torch.randn(6, 33), torch.randn(6, 33)]
"""
    for split in ([], ["aten::view_as_real"]):
        plan = plan_of(reference(source, split=split))
        torch.testing.assert_close(replayed(plan, seed=3), eager(source, seed=3))


_ROTARY = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(9.0), 1.0 / 100 ** (torch.arange(0, 8, 2)[:4].float() / 8))
        {}
    def forward(self, x):
        if not isinstance(self.turns, nn.Parameter):
            self.turns = self.turns.to(x.device)
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(z * self.turns[2:7].view(1, 5, 1, 4)).flatten(3)

def get_inputs():
    return [torch.randn(2, 5, 3, 8)]
"""


@pytest.mark.parametrize(
    "init",
    [
        "self.turns = torch.polar(torch.ones_like(angles), angles)",
        "self.register_buffer('turns', torch.polar(torch.ones_like(angles), angles))",
        "self.register_buffer('turns', torch.polar(torch.ones_like(angles), angles), persistent=False)",
        "self.turns = nn.Parameter(0.5 * torch.randn(9, 4, dtype=torch.cfloat))",
        "self.turns = nn.Parameter(torch.randn(9, 4, dtype=torch.cfloat))",
        "self.turns = nn.Parameter(torch.exp(1j * angles))",
    ],
)
def test_tables_of_set_up(init):
    source = _ROTARY.format(init)
    whole = plan_of(reference(source))
    pairs = plan_of(reference(source, split=["aten::view_as_real"]))
    assert not {"complex64"} & _kinds({"tensors": _in_calls(pairs)})
    for plan in (whole, pairs):
        torch.testing.assert_close(replayed(plan, seed=3), eager(source, seed=3))
    states = [[(name, plan["tensors"][tensor][1:3]) for name, tensor, _ in plan["state"]] for plan in (whole, pairs)]
    assert states[0] == states[1]  # what has a name is complex in both
    if "self.turns = torch" in init:
        made = {out for step in pairs["setup"] for out in (step["outs"] if "outs" in step else [step["out"]])}
        assert "complex64" not in {pairs["tensors"][out][1] for out in made}


@pytest.mark.parametrize(
    "init, forward, inputs, words",
    [
        ("pass", "return torch.complex(x, x)", "torch.randn(3)", "returns complex numbers"),
        ("pass", "return x.abs()", "torch.randn(3, dtype=torch.complex64)", "are complex"),
    ],
)  # fmt: skip
def test_what_goes_in_and_comes_out_is_real(init, forward, inputs, words):
    reply = reference(f"""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, x):
        {forward}

def get_inputs():
    return [{inputs}]
""")
    assert not reply["ok"] and reply["rule"] == "dtype" and words in reply["message"]


@pytest.mark.parametrize("size", [1, 2, 7, 16, 31, 32, 33, 37, 64, 90, 400, 1024])
def test_transforms_are_as_exact_as_pytorchs(size):
    """Eight times eager's root mean square is what the verifier allows."""
    torch.manual_seed(size)
    x = torch.randn(8, size, dtype=torch.float64)
    want, spectrum = torch.fft.fft(x.to(torch.complex128)), torch.fft.rfft(x)
    length = lambda z: z.abs().square().mean().sqrt().item()
    single = x.float()
    eager_error = length(torch.fft.fft(single.to(torch.complex64)) - torch.fft.fft(single.to(torch.complex128))) + 1e-12
    re, im = fourier.of_complex(single, torch.zeros_like(single), [1], 0, True)
    assert length(torch.complex(re, im) - torch.fft.fft(single.to(torch.complex128))) < 4 * eager_error
    torch.testing.assert_close(torch.complex(*fourier.of_complex(x, torch.zeros_like(x), [1], 0, True)), want)
    torch.testing.assert_close(torch.complex(*fourier.of_real(x, [1], 0, True)), spectrum)
    torch.testing.assert_close(fourier.to_real(spectrum.real, spectrum.imag, [1], 2, size), x)
