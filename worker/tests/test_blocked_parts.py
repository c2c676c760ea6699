"""Factors of matrices in blocks compute what the operators compute; what a kernel holds stays whole."""

from __future__ import annotations

import pytest
import torch

import blocked_decompositions as blocked
import decompositions

aten = torch.ops.aten
_SQUARE = torch.randn(2, 140, 140, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
_SMALLER = _SQUARE[..., :50, :50]
_LARGE = _SQUARE[0]
_POSITIVE = _LARGE @ _LARGE.mT / 140 + torch.eye(140).double()
_LOWER = torch.linalg.cholesky(_POSITIVE)
_LONG = torch.linspace(0, 5, 1100 * 1100).mul(11).sin().reshape(1100, 1100).double() + 1100 * torch.eye(1100).double()
_REFLECTIONS = torch.geqrf(_SQUARE[..., :40])

# Operator, arguments and how many of the results are of use: the others are for a backward pass.
CASES = [
    *[(aten.linalg_inv_ex.default, (a,), 1) for a in (_SMALLER, _LARGE)],
    *[(aten._linalg_solve_ex.default, (a, a[..., :3].cos()), 1) for a in (_SMALLER, _SQUARE)],
    *[(aten._linalg_det.default, (a / 9,), 1) for a in (_SMALLER, _LARGE)],
    (aten._linalg_slogdet.default, (_SQUARE,), 2),
    *[(aten.linalg_lu.default, (a,), 3) for a in (_SQUARE, torch.cat([_LARGE, _LARGE.cos()]))],
    *[(aten.linalg_lu_factor_ex.default, (a,), 2) for a in (_SQUARE, torch.cat([_LARGE, _LARGE.cos()], 1))],
    (aten.linalg_lu_solve.default, (*torch.linalg.lu_factor(_SMALLER), _SMALLER[..., :3].cos()), 1),
    *[(aten.linalg_cholesky_ex.default, (_POSITIVE,), 1)],
    *[(aten.cholesky_solve.default, (_LARGE[:, :3], _LOWER), 1), (aten.cholesky_inverse.default, (_LOWER,), 1)],
    *[(aten.linalg_qr.default, (a, mode), 2) for a in (_SMALLER, _SQUARE, _SQUARE[..., :50], _SQUARE[..., :50, :]) for mode in ("reduced", "complete", "r")],
    (aten.geqrf.default, (_SQUARE,), 2),
    (aten.linalg_householder_product.default, _REFLECTIONS, 1),
    *[(aten.ormqr.default, (*_REFLECTIONS, _SQUARE, left, turned), 1) for left in (False, True) for turned in (False, True)],
    (aten.linalg_lstsq.default, (_SQUARE[..., :40], _SQUARE[..., :2].cos()), 1),
    *[(aten.triangular_solve.default, (_LARGE[:, :2], _LOWER, False, turned), 1) for turned in (False, True)],
    (aten.linalg_pinv.atol_rtol_tensor, (_SQUARE[..., :40],), 1),
    (aten._linalg_svd.default, (torch.cat([_SQUARE[0, :, :40]] * 4), False, False), 2),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].name())
def test_blocks_compute_what_the_operator_computes(case):
    function, args, count = case
    got, want = _listed(decompositions.parts_of(function)(*args)), _listed(function(*args))
    for g, w in list(zip(got, want))[:count]:
        assert g.dtype == w.dtype
        torch.testing.assert_close(g, w, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_long_triangular_systems_are_cut_in_two(upper, left):
    b = _LONG[:, :2] if left else _LONG[:2]
    got = decompositions.parts_of(aten.linalg_solve_triangular.default)(_LONG, b, upper=upper, left=left)
    torch.testing.assert_close(got, torch.linalg.solve_triangular(_LONG, b, upper=upper, left=left), rtol=1e-10, atol=1e-10)


def test_what_a_kernel_holds_stays_whole():
    for function, args in [
        (aten.linalg_cholesky_ex.default, (_SMALLER,)),
        (aten.linalg_lu_factor_ex.default, (_SQUARE[..., :50],)),
        (aten.linalg_lu.default, (_SMALLER,)),
        (aten.geqrf.default, (_SQUARE[..., :50],)),
        (aten._linalg_svd.default, (_SMALLER,)),
    ]:
        assert decompositions.parts_of(function)(*args) is NotImplemented


def test_a_matrix_of_zeros_has_reflections_that_do_nothing():
    zeros = torch.zeros(2, 50, 40).double()
    q, r = decompositions.parts_of(aten.linalg_qr.default)(zeros, "complete")
    assert torch.equal(q, torch.eye(50).double().expand(2, 50, 50)) and not r.any()


def test_the_order_that_steps_make():
    _, pivots = torch.linalg.lu_factor(_SQUARE)
    permutation = torch.lu_unpack(_SQUARE, pivots, unpack_data=False)[0]
    assert torch.equal(blocked.order_of(pivots, 140), permutation.argmax(-2))
    assert torch.equal(blocked.sign_of(pivots.long() - 1), torch.linalg.det(permutation).round().float())


def _listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]
