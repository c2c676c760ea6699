"""Parts of linear algebra on small matrices: elimination, column by column, of all matrices of a batch at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Tensor = torch.Tensor
aten = torch.ops.aten

_LARGEST = 16  # rows, whose elimination is written out


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
    both, diagonal, _ = _eliminated(a, b)
    return both[..., a.shape[-1] :] / diagonal.unsqueeze(-1)


def _small(a: Tensor) -> bool:
    return 0 < a.shape[-1] <= _LARGEST and a.dtype in (torch.float32, torch.float64)


def _no_errors(a: Tensor) -> Tensor:
    return torch.zeros(a.shape[:-2], dtype=torch.int32, device=a.device)


def _no_pivots(a: Tensor) -> Tensor:
    return torch.zeros(a.shape[:-1], dtype=torch.int32, device=a.device)


def _identity(a: Tensor) -> Tensor:
    return torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)


def _inverse(a: Tensor, *, check_errors: bool = False) -> Any:
    return (_quotient(a, _identity(a)), _no_errors(a)) if _small(a) else NotImplemented


def _solve(a: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """Where the factors of a would stand, which are for a backward pass, stands a."""
    if not _small(a):
        return NotImplemented
    vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    b = b.unsqueeze(-1) if vector else b
    x = _quotient(a, b) if left else _quotient(a.mT, b.mT).mT
    return (x.squeeze(-1) if vector else x), a, _no_pivots(a), _no_errors(a)


def _determinant(a: Tensor) -> Any:
    if not _small(a):
        return NotImplemented
    _, diagonal, sign = _eliminated(a, None)
    return diagonal.prod(-1) * sign, a, _no_pivots(a)


def _cholesky(a: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    if not _small(a):
        return NotImplemented
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
    if not _small(a):
        return NotImplemented
    if not left:
        return _solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT
    size = a.shape[-1]
    found: dict[int, Tensor] = {}
    for k in reversed(range(size)) if upper else range(size):
        row = b[..., k, :]
        for other, value in found.items():
            row = row - a[..., k, other].unsqueeze(-1) * value
        found[k] = row if unitriangular else row / a[..., k, k].unsqueeze(-1)
    return torch.stack([found[k] for k in range(size)], -2)


def _cholesky_solve(b: Tensor, factor: Tensor, upper: bool = False) -> Any:
    if not _small(factor):
        return NotImplemented
    lower = factor.mT if upper else factor
    half = _solve_triangular(lower, b, upper=False)
    return _solve_triangular(lower.mT, half, upper=True)


PARTS: dict[Any, Callable[..., Any]] = {
    aten.linalg_inv_ex.default: _inverse,
    aten._linalg_solve_ex.default: _solve,
    aten._linalg_det.default: _determinant,
    aten.linalg_cholesky_ex.default: _cholesky,
    aten.linalg_solve_triangular.default: _solve_triangular,
    aten.cholesky_solve.default: _cholesky_solve,
}
