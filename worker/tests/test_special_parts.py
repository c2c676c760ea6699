"""Parts of special functions, factors of matrices, windows: they compute what the operators compute."""

from __future__ import annotations

import math

import pytest
import torch

import decompositions

aten = torch.ops.aten
_GRID = torch.cat([torch.linspace(-40, 40, 801), torch.linspace(-2.9, 2.9, 201)]).double() + 0.013
_ABOVE = torch.logspace(-3, 2.5, 400).double()
_EDGES = torch.tensor([0.0, -0.0, math.inf, math.nan, 1.0, 2.0, 30.0, 10.0, 0.5], dtype=torch.float64)
_UNIT = torch.linspace(-1, 1, 41).double()
_MATRICES = torch.linspace(0, 9, 2 * 5 * 5).square().sin().reshape(2, 5, 5).double()
_TALL, _WIDE = _MATRICES[..., :3], _MATRICES[..., :3, :]
_NUMBERS = (torch.linspace(-3, 4, 60).sin() * 1e9).long()
_FACTORS, _TAUS = torch.geqrf(_TALL[0])
_GAMMA = [n.reshape(-1) for n in torch.meshgrid(torch.logspace(-3, 1.2, 40).double(), torch.logspace(-3, 3, 60).double(), indexing="ij")]
_GAMMA_NEAR = (torch.linspace(0.1, 19, 190).double(), torch.linspace(0.1, 19, 190).double() + torch.linspace(0, 90, 190).sin().double())
_GAMMA_EDGES = [n.reshape(-1) for n in torch.meshgrid(*[torch.tensor([0.0, 1.0, -1.0, math.inf, math.nan, 2.5, 1e-30]).double()] * 2, indexing="ij")]
_BINARY = torch.cat([2.0 ** torch.arange(-149, 128).double(), 1 - 2.0 ** -torch.arange(1, 54).double(), _GRID * 2.0 ** torch.linspace(-126, 100, _GRID.numel()).round()])
_PICTURE = torch.linspace(-3, 3, 2 * 9 * 12).sin().reshape(1, 2, 9, 12).double()

_OF_ONE = (
    "digamma special_i0e special_i1e special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 "
    "special_scaled_modified_bessel_k1 special_modified_bessel_i0 special_modified_bessel_i1 special_spherical_bessel_j0 angle"
).split()
_POLYNOMIALS = [f for f in decompositions._OURS if isinstance(f, torch._ops.OpOverload) and "_polynomial_" in f.name()]

CASES = [
    *[(getattr(aten, name).default, (x,)) for name in _OF_ONE for x in (_GRID, _ABOVE, _EDGES)],
    *[(aten.polygamma.default, (n, x)) for n in (0, 2, 3, 4) for x in (_GRID, _ABOVE)],
    (aten.special_zeta.other_scalar, (_ABOVE, 2.0)),
    (aten.special_zeta.default, (_UNIT.exp() + 1.01, _UNIT + 1.02)),
    (aten.special_zeta.self_scalar, (3.0, _EDGES)),
    *[(f, (_UNIT, n)) for f in _POLYNOMIALS for n in (-1, 0, 1, 2, 6, 11)],
    (aten.gcd.default, (_NUMBERS, _NUMBERS.flip(0))),
    (aten.gcd.default, (_NUMBERS * 1_234_567_891, torch.tensor([7540113804746346429, 0, 4660046610375530309] * 20))),  # Fibonacci's
    (aten.gcd.default, (_NUMBERS.int(), _NUMBERS.flip(0).int() // 1000)),
    *[(aten.linalg_qr.default, (a, mode)) for a in (_MATRICES, _TALL, _WIDE, torch.eye(3) * 0) for mode in ("reduced", "complete", "r")],
    *[(aten.linalg_lu.default, (a,)) for a in (_MATRICES, _TALL, _WIDE)],
    (aten.linalg_lu_factor_ex.default, (_MATRICES,)),
    (aten.linalg_lu_solve.default, (*torch.linalg.lu_factor(_MATRICES), _TALL)),
    (aten._linalg_slogdet.default, (_MATRICES,)),
    *[(aten.triangular_solve.default, (_TALL, _MATRICES + 3 * torch.eye(5), upper, turned)) for upper in (False, True) for turned in (False, True)],
    *[(aten.cholesky_inverse.default, (_MATRICES[0].tril() + 3 * torch.eye(5),))],
    (aten.linalg_householder_product.default, (_FACTORS, _TAUS)),
    *[(aten.linalg_matrix_exp.default, (_MATRICES * size,)) for size in (0.0, 1e-3, 1.0, 7.0)],
    *[(f, (n, periodic)) for f in (aten.hann_window.periodic, aten.hamming_window.periodic, aten.blackman_window.periodic, aten.bartlett_window.periodic, aten.kaiser_window.periodic) for n in (1, 2, 9) for periodic in (False, True)],
    *[(f, (n, 0.5)) for f in (aten.fft_fftfreq.default, aten.fft_rfftfreq.default) for n in (1, 8, 9)],
    *[(f, (_PICTURE, size, corners)) for f in (aten._upsample_bilinear2d_aa.default, aten._upsample_bicubic2d_aa.default) for size in ((4, 5), (20, 12)) for corners in (False, True)],
    *[(f, (a, x)) for f in (aten.igamma.default, aten.igammac.default) for a, x in (_GAMMA, _GAMMA_NEAR, _GAMMA_EDGES)],
    *[(aten.special_airy_ai.default, (x,)) for x in (_GRID, _ABOVE, _EDGES)],
    *[(aten.frexp.Tensor, (x.to(dtype),)) for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16) for x in (_BINARY, -_BINARY, _EDGES)],
    *[(f, (7, _NUMBERS.abs() % 60 + 1)) for f in (aten.remainder.Scalar_Tensor, aten.bitwise_and.Scalar_Tensor, aten.bitwise_left_shift.Scalar_Tensor)],
    *[(aten.isin.Scalar_Tensor, (n, _NUMBERS)) for n in (3, int(_NUMBERS[5]))],
    *[(aten.searchsorted.Scalar, (_UNIT, n)) for n in (-2, 0.03, 5)],
    *[(aten.unfold_backward.default, (_MATRICES[:, :4], [2, 3 * step + 5], 1, 5, step)) for step in (1, 2, 3, 5, 7)],
    *[(aten.segment_reduce.default, (_TALL[0].contiguous(), how), {"lengths": torch.tensor([2, 0, 3]), "unsafe": True}) for how in ("sum", "mean", "max", "min", "prod")],
    *[(aten.nonzero_static.default, (_NUMBERS.reshape(3, 4, 5) % 3,), {"size": n, "fill_value": -7}) for n in (4, 60)],
    (aten.put.default, (_TALL, torch.tensor([3, 7]), torch.tensor([5.0, 6.0]).double())),
    *[(aten.index_reduce.default, (_TALL, 1, torch.tensor([0, 2, 2]), _TALL[:, :3], how)) for how in ("amax", "mean", "prod")],
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].name())
def test_parts_compute_what_the_operator_computes(case):
    function, args, named = (*case, {})[:3]
    got, want = _listed(decompositions.parts_of(function)(*args, **named)), _listed(function(*args, **named))
    results = 2 if "slogdet" in function.name() else len(want)  # the others are for a backward pass
    for g, w in list(zip(got, want))[:results]:
        assert g.dtype == w.dtype
        exact = w.dtype in (torch.float64, torch.int64, torch.int32)
        torch.testing.assert_close(g, w, rtol=2e-10 if exact else 1e-5, atol=1e-11 if exact else 1e-6, equal_nan=True)


def _listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def test_the_second_polygamma_is_closer_than_eager_says():
    """PyTorch's trigamma ends its series early: its float64 is right to 1e-9 only."""
    x = torch.tensor([1.0, 0.5, 3.0, -0.5], dtype=torch.float64)
    pi2 = math.pi**2
    want = torch.tensor([pi2 / 6, pi2 / 2, pi2 / 6 - 1.25, pi2 / 2 + 4], dtype=torch.float64)
    torch.testing.assert_close(decompositions.parts_of(aten.polygamma.default)(1, x), want, rtol=1e-10, atol=0)


def test_half_types_are_rounded_once():
    x = torch.linspace(0.1, 20, 200).bfloat16()
    for function in (aten.digamma.default, aten.special_i0e.default, aten.special_modified_bessel_k0.default):
        got = decompositions.parts_of(function)(x)
        torch.testing.assert_close(got, function(x.float()).bfloat16(), rtol=2**-8, atol=0)


def test_pictures_of_half_types_are_weighed_in_float32():
    """PyTorch has it on GPUs only."""
    x, resize = torch.linspace(-1, 1, 2 * 3 * 500 * 9).view(2, 3, 500, 9).sin().half(), aten._upsample_bilinear2d_aa.default
    got = decompositions.parts_of(resize)(x, (201, 5), False)
    torch.testing.assert_close(got, resize(x.float(), (201, 5), False).half(), rtol=2**-10, atol=2**-24)


def test_large_incomplete_gammas_are_closer_than_eager_says():
    """PyTorch's float64 expands around a = x from 20 on, and is right to 4e-10 only. Values by mpmath."""
    a = torch.tensor([111.65897892646316, 5000.0], dtype=torch.float64)
    x = torch.tensor([107.5445290647651, 5050.0], dtype=torch.float64)
    got = decompositions.parts_of(aten.igamma.default)(a, x)
    torch.testing.assert_close(got, torch.tensor([0.35844792404521425, 0.7609846747598249], dtype=torch.float64), rtol=1e-13, atol=0)


@pytest.mark.parametrize("size", (1.0, 30.0, 3000.0))
def test_incomplete_gammas_in_float32_err_as_eager_does(size):
    a = torch.linspace(0.01, 1, 4000) * size
    x = a * (1 + torch.linspace(0, 999, 4000).sin() * min(1.0, 4 / size**0.5)) + 1e-4
    for function in (aten.igamma.default, aten.igammac.default):
        want = function(a.double(), x.double())
        error = lambda y: (y - want).square().mean().sqrt().item()
        assert error(decompositions.parts_of(function)(a, x)) < 1.5 * error(function(a, x)) + 1e-9


def test_the_most_frequent_value_and_where_it_stands():
    x = torch.tensor([[2, 1, 1, 0, 2], [5, 5, 5, 1, 1], [4, 3, 2, 1, 0]])
    values, places = decompositions.parts_of(aten.mode.default)(x, 1)
    assert values.tolist() == torch.mode(x, 1).values.tolist() == [1, 5, 0]
    assert x.gather(1, places.unsqueeze(1)).squeeze(1).tolist() == values.tolist()
