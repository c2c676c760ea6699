"""Factors of matrices that no kernel holds, in blocks: panels of them, triangular systems and products.

What a kernel holds stays one operator, here and in src/teach/lower_linalg.cc.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

Tensor = torch.Tensor
aten = torch.ops.aten

_HELD = 16384  # elements, each dimension a power of 2, of a matrix in a kernel's registers
_PANEL = 32  # columns
LONGEST_SYSTEM = 1024
_MOST_PANELS = 64  # more are thousands of calls

_depth = 0


def in_blocks() -> bool:
    """Whether a call comes from here: then it stays whole, however small its matrix."""
    return _depth > 0


@contextlib.contextmanager
def whole() -> Iterator[None]:
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def fits(a: Tensor) -> bool:
    """Whether its factors are made here or in one kernel."""
    height, least = a.shape[-2], min(a.shape[-2:])
    if a.dtype not in (torch.float32, torch.float64) or least == 0 or height > _HELD:
        return False
    return least <= _MOST_PANELS * _panel(height, least)


def held(height: int, width: int) -> bool:
    return _power_of_2(height) * _power_of_2(width) <= _HELD


def _power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _panel(height: int, width: int) -> int:
    """Columns of a panel of that height: all where they fit."""
    return width if held(height, width) else min(_PANEL, _HELD // _power_of_2(height))


def identity(like: Tensor, height: int, width: int) -> Tensor:
    return torch.eye(height, width, dtype=like.dtype, device=like.device)


# --- triangles -------------------------------------------------------------------------------------------------------


def solve(a: Tensor, b: Tensor, *, upper: bool, one: bool = False) -> Tensor:
    """a⁻¹·b of a triangle, whose other half is not read."""
    size = a.shape[-1]
    if size <= LONGEST_SYSTEM:
        with whole():
            return torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=one)
    half = size // 2
    first, last = (slice(half, size), slice(0, half)) if upper else (slice(0, half), slice(half, size))
    x = solve(a[..., first, first], b[..., first, :], upper=upper, one=one)
    y = solve(a[..., last, last], b[..., last, :] - a[..., last, first] @ x, upper=upper, one=one)
    return torch.cat([y, x] if upper else [x, y], -2)


def cholesky(a: Tensor) -> Tensor:
    size, rest, columns = a.shape[-1], a, []
    block = size if held(size, size) else 128
    for start in range(0, size, block):
        width = min(block, size - start)
        with whole():
            corner = aten.linalg_cholesky_ex.default(rest[..., :width, :width])[0]
        column = [a.new_zeros((*a.shape[:-2], start, width)), corner]
        if start + width < size:
            below = solve(corner, rest[..., width:, :width].mT, upper=False).mT
            rest = rest[..., width:, width:] - below @ below.mT
            column.append(below)
        columns.append(torch.cat(column, -2))
    return torch.cat(columns, -1)


# --- LU --------------------------------------------------------------------------------------------------------------


def factored(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """L below the diagonal and U on and above it, the row taken at each step, the order that the rows end up in."""
    height, width = a.shape[-2:]
    least = min(height, width)
    step = _panel(height, width)
    order = torch.arange(height, device=a.device).expand(a.shape[:-1])
    left, rest, done, taken = a[..., :0], a, [], []
    for start in range(0, least, step):
        columns = min(step, least - start) if step < width else width
        panel = rest[..., :columns]
        with whole():
            factors, pivots, _ = aten.linalg_lu_factor_ex.default(panel)
            local = aten.linalg_lu.default(panel)[0].to(torch.float32).argmax(-2)
        taken.append(pivots.to(torch.int64) - 1 + start)
        order = torch.cat([order[..., :start], order[..., start:].gather(-1, local)], -1) if start else local
        left, right = (x.gather(-2, local.unsqueeze(-1).expand(x.shape)) for x in (left, rest[..., columns:]))
        steps = min(columns, least - start)
        if right.shape[-1] > 0:
            top = solve(factors[..., :steps, :steps], right[..., :steps, :], upper=False, one=True)
            rest = right[..., steps:, :] - factors[..., steps:, :steps] @ top
            done.append(torch.cat([left[..., :steps, :], factors[..., :steps, :], top], -1))
        else:
            done.append(torch.cat([left[..., :steps, :], factors[..., :steps, :]], -1))
        left = torch.cat([left[..., steps:, :], factors[..., steps:, :]], -1)
    return torch.cat([*done, left], -2) if height > least else torch.cat(done, -2), torch.cat(taken, -1), order


def order_of(pivots: Tensor, height: int) -> Tensor:
    """The order that rows end up in when each step changes its own with the one it names: pairs of steps at a time."""
    rows = torch.arange(height, device=pivots.device)
    step = torch.arange(pivots.shape[-1], device=pivots.device).unsqueeze(-1)
    other = pivots.to(torch.int64).unsqueeze(-1) - 1
    orders = torch.where(rows == step, other, torch.where(rows == other, step, rows))
    while (count := orders.shape[-2]) > 1:
        pairs = orders[..., 0 : count - 1 : 2, :].gather(-1, orders[..., 1:count:2, :])
        orders = torch.cat([pairs, orders[..., count - 1 :, :]], -2) if count % 2 else pairs
    return orders.squeeze(-2)


def sign_of(taken: Tensor) -> Tensor:
    """Of the order that these steps make."""
    places = torch.arange(taken.shape[-1], device=taken.device)
    return torch.where(taken == places, 1.0, -1.0).prod(-1)


def rows_in_order(b: Tensor, order: Tensor) -> Tensor:
    return b.gather(-2, order.unsqueeze(-1).expand(b.shape))


def quotient(a: Tensor, b: Tensor) -> Tensor:
    """a⁻¹·b"""
    factors, _, order = factored(a)
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = b.expand(*batch, *b.shape[-2:])
    half = solve(factors, rows_in_order(b, order.expand(*batch, a.shape[-1])), upper=False, one=True)
    return solve(factors, half, upper=True)


# --- reflections -----------------------------------------------------------------------------------------------------


def _joined(vectors: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """v and t, where the product of all reflections 1 - tau·v·vᵀ is 1 - v·t⁻¹·vᵀ: t is a triangle. A reflection that
    does nothing has no vector."""
    nothing = tau == 0
    vectors = torch.where(nothing.unsqueeze(-2), 0.0, vectors)
    diagonal = torch.where(nothing, 1.0, 1.0 / torch.where(nothing, 1.0, tau))
    return vectors, (vectors.mT @ vectors).triu(1) + torch.diag_embed(diagonal)


def _below(factors: Tensor, count: int) -> Tensor:
    """The vectors of reflections, which stand below the diagonal without their first number, 1."""
    return factors[..., :count].tril(-1) + identity(factors, factors.shape[-2], count)


def reflections(a: Tensor) -> tuple[Tensor, Tensor]:
    """As geqrf has them: R on and above the diagonal, vectors below it; and each one's tau."""
    height, width = a.shape[-2:]
    least = min(height, width)
    step = _panel(height, width)
    done, left, rest, taus = [], a[..., :0], a, []
    for start in range(0, least, step):
        columns = min(step, least - start) if step < width else width
        with whole():
            factors, tau = aten.geqrf.default(rest[..., :columns])
        steps = min(columns, least - start)
        taus.append(tau)
        right = rest[..., columns:]
        if right.shape[-1] > 0:
            vectors, triangle = _joined(_below(factors, steps), tau)
            right = right - vectors @ solve(triangle.mT, vectors.mT @ right, upper=False)
        done.append(torch.cat([left[..., :steps, :], factors[..., :steps, :], right[..., :steps, :]], -1))
        left = torch.cat([left[..., steps:, :], factors[..., steps:, :]], -1)
        rest = right[..., steps:, :]
    return torch.cat([*done, left], -2) if height > least else torch.cat(done, -2), torch.cat(taus, -1)


def product_of_reflections(factors: Tensor, tau: Tensor, width: int) -> Tensor:
    """The first columns of it."""
    height, count = factors.shape[-2], tau.shape[-1]
    vectors, triangle = _joined(_below(factors, count), tau)
    ahead = vectors.mT if width == height else vectors[..., :width, :].mT
    return identity(factors, height, width) - vectors @ solve(triangle, ahead, upper=True)


def reflected(factors: Tensor, tau: Tensor, b: Tensor, left: bool = True, transpose: bool = False) -> Any:
    """b multiplied by the product of all reflections."""
    if tau.shape[-1] == 0 or not fits(factors):
        return NotImplemented
    if not left:
        turned = reflected(factors, tau, b.mT, True, not transpose)
        return turned.mT
    vectors, triangle = _joined(_below(factors, tau.shape[-1]), tau)
    along = solve(triangle.mT if transpose else triangle, vectors.mT @ b, upper=not transpose)
    return b - vectors @ along


# --- singular values -------------------------------------------------------------------------------------------------


def singular(a: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    """Of no fewer rows than columns, and of a triangle where there are many rows."""
    height, width = a.shape[-2:]
    if not fits(a) or (compute_uv and full_matrices and height != width):
        return NotImplemented
    if height < width:
        u, values, v = aten._linalg_svd.default(a.mT, full_matrices, compute_uv)
        return (v.mT, values, u.mT) if compute_uv else (v, values, u)
    if held(height, width) or height == width:
        return NotImplemented
    factors, tau = reflections(a)
    u, values, v = aten._linalg_svd.default(factors[..., :width, :].triu(), full_matrices, compute_uv)
    return (product_of_reflections(factors, tau, width) @ u if compute_uv else u), values, v


def pseudo_inverse(
    a: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Any:
    if a.numel() == 0 or a.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    if rtol is None:
        rtol = torch.full((), torch.finfo(a.dtype).eps * max(a.shape[-2:]), dtype=torch.float64, device=a.device)
        rtol = rtol if atol is None else torch.where(atol > 0, 0.0, rtol)
    if hermitian:
        values, right = aten._linalg_eigh.default(a)
        left, size = right, values.abs()
    else:
        left, values, right = aten._linalg_svd.default(a)
        right, size = right.mT, values
    least = rtol.unsqueeze(-1) * size.amax(-1, keepdim=True)
    least = least if atol is None else torch.maximum(atol.unsqueeze(-1), least)
    kept = size > least.to(a.dtype)
    inverse = torch.where(kept, 1.0 / torch.where(kept, values, 1.0), 0.0)
    return (right * inverse.unsqueeze(-2)) @ left.mT
