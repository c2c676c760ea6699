"""Parts of linear algebra. Small matrices: elimination, column by column, of all matrices of a batch at once; larger ones
by factors that kernels make (blocked_decompositions.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import blocked_decompositions as blocked

Tensor = torch.Tensor
aten = torch.ops.aten

_LARGEST = 32  # rows, whose elimination is written out


def _eliminated(a: Tensor, b: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """a and b side by side after Gauss and Jordan with the largest pivots, a's diagonal, the sign of the rows' order."""
    size = a.shape[-1]
    rows = torch.arange(size, device=a.device)
    both = a if b is None else torch.cat([a, b.expand(*a.shape[:-2], *b.shape[-2:])], -1)
    sign = torch.ones(a.shape[:-2], dtype=a.dtype, device=a.device)
    for k in range(size):
        pivot = torch.where(rows < k, -1.0, both[..., k].abs()).argmax(-1, keepdim=True)
        order = torch.where(rows == k, pivot, torch.where(rows == pivot, k, rows))
        both = both.gather(-2, order.unsqueeze(-1).expand(both.shape))
        sign = torch.where(pivot.squeeze(-1) == k, sign, -sign)
        largest = both[..., k, k].unsqueeze(-1)
        share = both[..., k] / torch.where(largest == 0, 1.0, largest)  # a column of zeros has nothing to take away
        both = both - torch.where(rows == k, 0.0, share).unsqueeze(-1) * both[..., k : k + 1, :]
    diagonal = torch.where(rows.unsqueeze(1) == rows, both[..., :size], 0.0).sum(-1)
    return both, diagonal, sign


def _quotient(a: Tensor, b: Tensor) -> Tensor:
    """a⁻¹·b"""
    if not _small(a):
        return blocked.quotient(a, b)
    both, diagonal, _ = _eliminated(a, b)
    return both[..., a.shape[-1] :] / diagonal.unsqueeze(-1)


def _small(a: Tensor) -> bool:
    """Whether its elimination is written out."""
    return 0 < a.shape[-1] <= _LARGEST and a.dtype in (torch.float32, torch.float64) and not blocked.in_blocks()


def _in_a_kernel(a: Tensor) -> bool:
    """Whether the call stays as it is: because a kernel holds the matrix, or because nobody knows parts of it."""
    return blocked.in_blocks() or blocked.held(*a.shape[-2:]) or not blocked.fits(a)


def _no_errors(a: Tensor) -> Tensor:
    return torch.zeros(a.shape[:-2], dtype=torch.int32, device=a.device)


def _no_pivots(a: Tensor) -> Tensor:
    return torch.zeros(a.shape[:-1], dtype=torch.int32, device=a.device)


def _identity(a: Tensor) -> Tensor:
    return torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)


def _inverse(a: Tensor, *, check_errors: bool = False) -> Any:
    if not blocked.fits(a):
        return NotImplemented
    return (_quotient(a, _identity(a)), _no_errors(a))


def _solve(a: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """Where the factors of a would stand, which are for a backward pass, stands a."""
    if not blocked.fits(a):
        return NotImplemented
    vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    b = b.unsqueeze(-1) if vector else b
    x = _quotient(a, b) if left else _quotient(a.mT, b.mT).mT
    return (x.squeeze(-1) if vector else x), a, _no_pivots(a), _no_errors(a)


def _determinant(a: Tensor) -> Any:
    if not blocked.fits(a):
        return NotImplemented
    diagonal, sign = _diagonal_and_sign(a)
    return diagonal.prod(-1) * sign, a, _no_pivots(a)


def _diagonal_and_sign(a: Tensor) -> tuple[Tensor, Tensor]:
    """Of what is left of a behind an elimination, and of the order of its rows."""
    if _small(a):
        return _eliminated(a, None)[1:]
    factors, taken, _ = blocked.factored(a)
    return factors.diagonal(dim1=-2, dim2=-1), blocked.sign_of(taken).to(a.dtype)


def _cholesky(a: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    if not _small(a):
        if _in_a_kernel(a):
            return NotImplemented
        factor = blocked.cholesky(a.mT if upper else a)
        return (factor.mT if upper else factor), _no_errors(a)
    rows, rest, columns = torch.arange(a.shape[-1], device=a.device), (a.mT if upper else a), []
    for k in range(a.shape[-1]):
        column = torch.where(rows < k, 0.0, rest[..., k] / rest[..., k, k].sqrt().unsqueeze(-1))
        rest = rest - column.unsqueeze(-1) * column.unsqueeze(-2)
        columns.append(column)
    factor = torch.stack(columns, -2 if upper else -1)
    return factor, _no_errors(a)


def _solve_triangular(
    a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    if not _small(a) and (blocked.in_blocks() or a.shape[-1] <= blocked.LONGEST_SYSTEM):
        return NotImplemented
    if not left:
        return _solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT
    if not _small(a):
        return blocked.solve(a, b, upper=upper, one=unitriangular)
    size = a.shape[-1]
    found: dict[int, Tensor] = {}
    for k in reversed(range(size)) if upper else range(size):
        row = b[..., k, :]
        for other, value in found.items():
            row = row - a[..., k, other].unsqueeze(-1) * value
        found[k] = row if unitriangular else row / a[..., k, k].unsqueeze(-1)
    return torch.stack([found[k] for k in range(size)], -2)


def _cholesky_solve(b: Tensor, factor: Tensor, upper: bool = False) -> Any:
    if not blocked.fits(factor):
        return NotImplemented
    lower = factor.mT if upper else factor
    half = _triangle_quotient(lower, b, upper=False)
    return _triangle_quotient(lower.mT, half, upper=True)


def _triangle_quotient(a: Tensor, b: Tensor, *, upper: bool, one: bool = False) -> Tensor:
    if _small(a):
        return _solve_triangular(a, b, upper=upper, unitriangular=one)
    return blocked.solve(a, b, upper=upper, one=one)


# --- determinants and factors ----------------------------------------------------------------------------------------


def _sign_and_log(a: Tensor) -> Any:
    if not blocked.fits(a):
        return NotImplemented
    diagonal, sign = _diagonal_and_sign(a)
    return sign * diagonal.sign().prod(-1), diagonal.abs().log().sum(-1), a, _no_pivots(a)


def _factored(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """L below the diagonal and U on and above it, the row taken at each step, the order that the rows end up in."""
    rows, columns = (torch.arange(size, device=a.device) for size in a.shape[-2:])
    order_of_all, taken = rows.expand(a.shape[:-1]), []
    for k in range(min(a.shape[-2:])):
        pivot = torch.where(rows < k, -1.0, a[..., k].abs()).argmax(-1, keepdim=True)
        order = torch.where(rows == k, pivot, torch.where(rows == pivot, k, rows))
        a = a.gather(-2, order.unsqueeze(-1).expand(a.shape))
        order_of_all = order_of_all.gather(-1, order)
        largest = a[..., k, k].unsqueeze(-1)
        share = torch.where(rows > k, a[..., k] / torch.where(largest == 0, 1.0, largest), 0.0)
        rest = a - share.unsqueeze(-1) * torch.where(columns < k, 0.0, a[..., k, :]).unsqueeze(-2)
        a = torch.where((columns == k) & (rows > k).unsqueeze(-1), share.unsqueeze(-1), rest)
        taken.append(pivot)
    return a, torch.cat(taken, -1), order_of_all


def _is_small_panel(a: Tensor) -> bool:
    return _small(a) and a.shape[-2] <= _LARGEST


def _lu(a: Tensor, *, pivot: bool = True) -> Any:
    if not pivot or (not _is_small_panel(a) and _in_a_kernel(a)):
        return NotImplemented
    factors, _, order = _factored(a) if _is_small_panel(a) else blocked.factored(a)
    height, width = a.shape[-2:]
    least = min(height, width)
    places = torch.arange(height, device=a.device)
    permutation = (order.unsqueeze(-2) == places.unsqueeze(-1)).to(a.dtype)
    lower = factors[..., :least].tril(-1) + torch.eye(height, least, dtype=a.dtype, device=a.device)
    return permutation, lower, factors[..., :least, :].triu()


def _lu_factor(a: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    if not pivot or (not _is_small_panel(a) and _in_a_kernel(a)):
        return NotImplemented
    factors, taken, _ = _factored(a) if _is_small_panel(a) else blocked.factored(a)
    return factors, (taken + 1).to(torch.int32), _no_errors(a)


def _lu_solve(factors: Tensor, pivots: Tensor, b: Tensor, *, left: bool = True, adjoint: bool = False) -> Any:
    if not blocked.fits(factors) or not left or adjoint:
        return NotImplemented
    if not _small(factors):
        b = blocked.rows_in_order(b, blocked.order_of(pivots, factors.shape[-1]))
        return blocked.solve(factors, blocked.solve(factors, b, upper=False, one=True), upper=True)
    rows = torch.arange(factors.shape[-1], device=factors.device)
    for k in range(factors.shape[-1]):
        other = pivots[..., k].unsqueeze(-1).to(torch.int64) - 1
        order = torch.where(rows == k, other, torch.where(rows == other, k, rows))
        b = b.gather(-2, order.unsqueeze(-1).expand(b.shape))
    half = _solve_triangular(factors, b, upper=False, unitriangular=True)
    return _solve_triangular(factors, half, upper=True)


def _old_solve_triangular(
    b: Tensor, a: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    if not blocked.fits(a):
        return NotImplemented
    return _triangle_quotient(a.mT if transpose else a, b, upper=upper != transpose, one=unitriangular), a


# --- reflections -----------------------------------------------------------------------------------------------------


def _qr(a: Tensor, mode: str = "reduced") -> Any:
    """Householder's, with LAPACK's signs: a column whose rest is zero already keeps its sign."""
    height, width = a.shape[-2:]
    least = min(height, width)
    if least == 0 or a.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    if least > _LARGEST:
        if not blocked.fits(a):
            return NotImplemented
        factors, tau = blocked.reflections(a)
        columns = height if mode == "complete" else least
        q = a.new_zeros(0) if mode == "r" else blocked.product_of_reflections(factors, tau, columns)
        return q, factors[..., :columns, :].triu()
    rows = torch.arange(height, device=a.device)
    q = torch.eye(height, dtype=a.dtype, device=a.device).expand(*a.shape[:-2], height, height)
    for k in range(min(least, height - 1)):
        column = torch.where(rows < k, 0.0, a[..., k])
        first, rest = column[..., k : k + 1], torch.where(rows <= k, 0.0, column)
        length = (first * first + (rest * rest).sum(-1, keepdim=True)).sqrt()
        beta = torch.where(first < 0, length, -length)
        still = (rest == 0).all(-1, keepdim=True)
        vector = torch.where(rows == k, 1.0, rest / torch.where(still, 1.0, first - beta))
        tau = torch.where(still, 0.0, (beta - first) / torch.where(still, 1.0, beta))
        a, q = _reflected(a, vector, tau), _reflected(q.mT, vector, tau).mT
    r = a.triu()
    if mode == "complete":
        return q, r
    return (q[..., :least] if mode == "reduced" else a.new_zeros(0)), r[..., :least, :]


def _reflected(a: Tensor, vector: Tensor, tau: Tensor) -> Tensor:
    """(1 - tau·v·vᵀ)·a"""
    along = (vector.unsqueeze(-1) * a).sum(-2, keepdim=True)
    return a - (tau * vector).unsqueeze(-1) * along


def _householder_product(vectors: Tensor, tau: Tensor) -> Any:
    height, width = vectors.shape[-2:]
    if tau.shape[-1] > _LARGEST:
        return blocked.product_of_reflections(vectors, tau, width) if blocked.fits(vectors) else NotImplemented
    rows = torch.arange(height, device=vectors.device)
    q = torch.eye(height, width, dtype=vectors.dtype, device=vectors.device).expand(vectors.shape)
    for k in reversed(range(tau.shape[-1])):
        vector = torch.where(rows < k, 0.0, torch.where(rows == k, 1.0, vectors[..., k]))
        q = _reflected(q, vector, tau[..., k : k + 1])
    return q


def _least_squares(a: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Of full rank, as PyTorch's driver on CUDA takes for granted. Further results, as recorded: there are none."""
    height, width = a.shape[-2:]
    factors = _qr(a if height >= width else a.mT)
    if factors is NotImplemented or b.dim() < a.dim():
        return NotImplemented
    q, r = factors
    if height >= width:
        return torch.linalg.solve_triangular(r, q.mT @ b, upper=True), None, None, None
    return q @ torch.linalg.solve_triangular(r.mT, b, upper=False), None, None, None


# --- exponentials ----------------------------------------------------------------------------------------------------

_MOST_SQUARINGS = 12
_TERMS = 18  # of the series, whose argument has a norm of 1 at most: 1 / 19! is below the rounding of float64


def _matrix_exponential(a: Tensor) -> Any:
    """The series of a / 2^s, squared s times; matrices of one batch have their own s."""
    if a.shape[-1] == 0 or a.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    norm = a.abs().sum(-2).amax(-1)
    squarings = (norm.clamp(min=1e-30).log2().ceil()).clamp(0, _MOST_SQUARINGS)[..., None, None]
    scaled = a * (-squarings).exp2()
    total = _identity(a) + scaled / _TERMS
    for k in range(_TERMS - 1, 0, -1):
        total = _identity(a) + scaled @ total / k
    for k in range(_MOST_SQUARINGS):
        total = torch.where(squarings > k, total @ total, total)
    return total


PARTS: dict[Any, Callable[..., Any]] = {
    aten._linalg_svd.default: blocked.singular,
    aten.linalg_pinv.atol_rtol_tensor: blocked.pseudo_inverse,
    aten.ormqr.default: blocked.reflected,
    aten.geqrf.default: lambda a: NotImplemented if _in_a_kernel(a) else blocked.reflections(a),
    aten._linalg_slogdet.default: _sign_and_log,
    aten.linalg_lu.default: _lu,
    aten.linalg_lu_factor_ex.default: _lu_factor,
    aten.linalg_lu_solve.default: _lu_solve,
    aten.triangular_solve.default: _old_solve_triangular,
    aten.cholesky_inverse.default: lambda factor, upper=False: _cholesky_solve(_identity(factor), factor, upper),
    aten.linalg_qr.default: _qr,
    aten.linalg_householder_product.default: _householder_product,
    aten.linalg_lstsq.default: _least_squares,
    aten.linalg_matrix_exp.default: _matrix_exponential,
    aten.linalg_inv_ex.default: _inverse,
    aten._linalg_solve_ex.default: _solve,
    aten._linalg_det.default: _determinant,
    aten.linalg_cholesky_ex.default: _cholesky,
    aten.linalg_solve_triangular.default: _solve_triangular,
    aten.cholesky_solve.default: _cholesky_solve,
}
