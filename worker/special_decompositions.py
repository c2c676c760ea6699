"""Parts of special functions: series and expansions that hold to the rounding of float64.

Sources: Abramowitz and Stegun, and Cephes, whose expansions PyTorch has, too (ATen/native/Math.h).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

Tensor = torch.Tensor
aten = torch.ops.aten

_MOST_DEGREES = 64  # of a polynomial whose recurrence is written out

# Chebyshev coefficients of the modified Bessel functions of the second kind, highest degree first, up to 2 and beyond.
_K0_NEAR = (
    1.374465435613523e-16, 4.25981614279661e-14, 1.0349695257633842e-11, 1.904516377220209e-09,
    2.5347910790261494e-07, 2.286212103119452e-05, 0.001264615411446926, 0.0359799365153615, 0.3442898999246285,
    -0.5353273932339028,
)  # fmt: skip
_K0_FAR = (
    5.300433772686263e-18, -1.6475804301524212e-17, 5.2103915050390274e-17, -1.678231096805412e-16,
    5.512055978524319e-16, -1.848593377343779e-15, 6.3400764774050706e-15, -2.2275133269916698e-14,
    8.032890775363575e-14, -2.9800969231727303e-13, 1.140340588208475e-12, -4.514597883373944e-12,
    1.8559491149547177e-11, -7.957489244477107e-11, 3.577397281400301e-10, -1.69753450938906e-09,
    8.574034017414225e-09, -4.660489897687948e-08, 2.766813639445015e-07, -1.8317555227191195e-06,
    1.39498137188765e-05, -0.00012849549581627802, 0.0015698838857300533, -0.0314481013119645, 2.4403030820659555,
)  # fmt: skip
_K1_NEAR = (
    -7.023863479386288e-18, -2.427449850519366e-15, -6.666901694199329e-13, -1.4114883926335278e-10,
    -2.213387630734726e-08, -2.4334061415659684e-06, -0.0001730288957513052, -0.006975723859639864,
    -0.12261118082265715, -0.3531559607765449, 1.5253002273389478,
)  # fmt: skip
_K1_FAR = (
    -5.756744483665017e-18, 1.7940508731475592e-17, -5.689462558442859e-17, 1.838093544366639e-16,
    -6.057047248373319e-16, 2.038703165624334e-15, -7.019837090418314e-15, 2.4771544244813043e-14,
    -8.976705182324994e-14, 3.3484196660784293e-13, -1.2891739609510289e-12, 5.13963967348173e-12,
    -2.1299678384275683e-11, 9.218315187605006e-11, -4.1903547593418965e-10, 2.015049755197033e-09,
    -1.0345762465678097e-08, 5.7410841254500495e-08, -3.5019606030878126e-07, 2.406484947837217e-06,
    -1.936197974166083e-05, 0.00019521551847135162, -0.002857816859622779, 0.10392373657681724, 2.7206261904844427,
)  # fmt: skip


def in_floats(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Half types are computed in float32 and rounded once; integers are float32."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Tensor:
        dtype = torch.result_type(*[a for a in args if not isinstance(a, bool)][:2]) if len(args) > 1 else args[0].dtype
        result_dtype = dtype if dtype.is_floating_point else torch.float32
        wide = torch.float64 if result_dtype == torch.float64 else torch.float32
        args = tuple(a.to(wide) if isinstance(a, Tensor) else a for a in args)
        return function(*args, **kwargs).to(result_dtype)

    return run


def polynomial(x: Tensor, coefficients: Any) -> Tensor:
    """Highest degree first."""
    total = torch.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


def _chebyshev_sum(x: Tensor, coefficients: Any) -> Tensor:
    """Clenshaw's recurrence as Cephes has it; x is twice the argument."""
    last, before, value = torch.zeros_like(x), torch.zeros_like(x), torch.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        last, before = before, value
        value = x * before - last + c
    return 0.5 * (value - last)


# --- gamma -----------------------------------------------------------------------------------------------------------


@in_floats
def _digamma(x: Tensor) -> Tensor:
    """Of what lies beyond 10 by its asymptotic series, of others by recurrence, of negative numbers by reflection."""
    first = torch.where(x < 0, 1 - x, x)
    total = torch.zeros_like(x)
    for k in range(10):
        total = total - torch.where(first + k < 10, 1 / (first + k), 0.0)
    y = torch.where(first < 10, first + (10 - first).ceil(), first)
    z = 1 / (y * y)
    series = z * polynomial(z, (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12))
    total = total + y.log() - 0.5 / y - series
    rest = x - x.round()
    mirrored = torch.where(rest == 0, math.nan, total - math.pi / (math.pi * rest).tan())
    return torch.where(x < 0, mirrored, torch.where(x == 0, -1 / x, total))


def _trigamma(x: Tensor) -> Tensor:
    small = x < 0.5
    y = torch.where(small, 1 - x, x)
    total = torch.zeros_like(x)
    for _ in range(6):
        total = total + 1 / (y * y)
        y = y + 1
    z = 1 / (y * y)
    series = z * polynomial(z, (-691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6))
    total = total + (1 + 0.5 / y + series) / y
    sine = (math.pi * (x - x.round())).sin()
    return torch.where(small, math.pi**2 / (sine * sine) - total, total)


def _polygamma(n: int, x: Tensor) -> Tensor:
    return _digamma(x) if n == 0 else _higher_polygamma(x, n)


@in_floats
def _higher_polygamma(x: Tensor, n: int) -> Tensor:
    if n == 1:
        return _trigamma(x)
    size = (1.0 if n % 2 else -1.0) * math.factorial(n)
    above = size * _hurwitz(n + 1.0, torch.where(x < 0, 1 - x, x))
    cotangent = 1 / (math.pi * (x - x.round())).tan()
    turned = polynomial(cotangent, _derivative_of_cotangent(n)) * math.pi ** (n + 1)
    return torch.where(x < 0, (-1) ** n * above - turned, above)


def _derivative_of_cotangent(n: int) -> list[float]:
    """d^n cot(x) / dx^n as a polynomial of cot(x), highest degree first."""
    lowest = [0.0, 1.0]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(lowest)][1:]
        padded = [*slope, 0.0, 0.0]
        lowest = [-(a + b) for a, b in zip(padded, [0.0, 0.0, *slope])]
    return lowest[::-1]


_BERNOULLI = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12,
    1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18,
)  # fmt: skip


def _hurwitz(s: Any, q: Tensor) -> Tensor:
    """The sum of (q + k)^-s for q > 0: its first ten terms, then Euler and Maclaurin's formula."""
    total, place = q.pow(-s), q
    for _ in range(9):
        place = place + 1
        last = place.pow(-s)
        total = total + last
    total = total + last * place / (s - 1) - 0.5 * last
    term = last * (s / place)
    for k, divisor in enumerate(_BERNOULLI):
        total = total + term / divisor
        term = term * ((s + (2 * k + 1)) / place) * ((s + (2 * k + 2)) / place)
    return total


@in_floats
def _zeta(s: Any, q: Any) -> Tensor:
    if not isinstance(q, Tensor):
        q = torch.full_like(s, q)
    s = s if isinstance(s, Tensor) else torch.full_like(q, s)
    whole, pole = q == q.floor(), (q <= 0)
    value = torch.where(pole, torch.where(whole, math.inf, math.nan), _hurwitz(s, q))
    return torch.where(s == 1, math.inf, torch.where(s < 1, math.nan, value))


# --- Bessel ----------------------------------------------------------------------------------------------------------

_FAR = 30.0  # where the asymptotic series of I0 and I1 are exact


def _far_bessel(size: Tensor, order: int) -> Tensor:
    """exp(-x)·I(x) for large x."""
    term = total = torch.ones_like(size)
    for k in range(1, 15):
        term = term * (((2 * k - 1) ** 2 - 4 * order**2) / (8 * k)) / size
        total = total + term
    return total / (2 * math.pi * size).sqrt()


@in_floats
def _i0e(x: Tensor) -> Tensor:
    size = x.abs()
    near = size.clamp(max=_FAR)
    return torch.where(size < _FAR, (-near).exp() * aten.i0(near), _far_bessel(size.clamp(min=_FAR), 0))


@in_floats
def _i1e(x: Tensor) -> Tensor:
    size = x.abs()
    near = size.clamp(max=_FAR)
    scaled = torch.where(size < _FAR, (-near).exp() * aten.special_i1(near), _far_bessel(size.clamp(min=_FAR), 1))
    return torch.where(x < 0, -scaled, scaled)


def _second_kind(order: int, scaled: bool) -> Callable[[Tensor], Tensor]:
    @in_floats
    def run(x: Tensor) -> Tensor:
        near, far = x.clamp(max=2.0), x.clamp(min=2.0)
        log = (0.5 * near).log()
        if order == 0:
            low = _chebyshev_sum(near * near - 2, _K0_NEAR) - log * aten.i0(near)
        else:
            low = log * aten.special_i1(near) + _chebyshev_sum(near * near - 2, _K1_NEAR) / near
        high = _chebyshev_sum(8 / far - 2, _K1_FAR if order else _K0_FAR) / far.sqrt()
        value = torch.where(x <= 2, low * near.exp(), high) if scaled else torch.where(x <= 2, low, (-far).exp() * high)
        return torch.where(x == 0, math.inf, torch.where(x < 0, math.nan, value))

    return run


@in_floats
def _spherical_j0(x: Tensor) -> Tensor:
    square = x * x
    coefficients = [(-1) ** k / math.factorial(2 * k + 1) for k in range(7)]
    near = polynomial(square, coefficients[::-1])
    away = torch.where(x.abs() == math.inf, 0.0, x.sin() / x)
    return torch.where(x.abs() < 0.5, near, away)


# --- orthogonal polynomials ------------------------------------------------------------------------------------------

_Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]


def _orthogonal(first: Callable[[Tensor], Tensor], step: _Step, shifted: bool = False) -> Callable[..., Any]:
    """Degree 1 of a polynomial, and degree k + 1 from those of degrees k and k - 1; of 2x - 1 where shifted."""

    def run(x: Tensor, n: Any) -> Any:
        return NotImplemented if n > _MOST_DEGREES else _by_recurrence(x, int(n))

    @in_floats
    def _by_recurrence(x: Tensor, n: int) -> Tensor:
        x = 2 * x - 1 if shifted else x
        if n <= 0:
            return torch.full_like(x, 0.0 if n < 0 else 1.0)
        before, value = torch.ones_like(x), first(x)
        for k in range(1, n):
            before, value = value, step(k, x, value, before)
        return value

    return run


def _chebyshev(first: Callable[[Tensor], Tensor], shifted: bool = False) -> Callable[..., Any]:
    return _orthogonal(first, lambda k, x, value, before: 2 * x * value - before, shifted)


_KINDS = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}

_POLYNOMIALS: dict[Any, Callable[..., Any]] = {
    aten.special_hermite_polynomial_h.n_scalar: _orthogonal(
        lambda x: 2 * x, lambda k, x, value, before: 2 * x * value - 2 * k * before
    ),
    aten.special_hermite_polynomial_he.n_scalar: _orthogonal(
        lambda x: x, lambda k, x, value, before: x * value - k * before
    ),
    aten.special_laguerre_polynomial_l.n_scalar: _orthogonal(
        lambda x: 1 - x, lambda k, x, value, before: ((2 * k + (1 - x)) * value - k * before) / (k + 1)
    ),
    aten.special_legendre_polynomial_p.n_scalar: _orthogonal(
        lambda x: x, lambda k, x, value, before: ((2 * k + 1) * x * value - k * before) / (k + 1)
    ),
    **{getattr(aten, f"special_chebyshev_polynomial_{k}").n_scalar: _chebyshev(f) for k, f in _KINDS.items()},
    **{
        getattr(aten, f"special_shifted_chebyshev_polynomial_{k}").n_scalar: _chebyshev(f, shifted=True)
        for k, f in _KINDS.items()
    },
}

@in_floats
def _angle(x: Tensor) -> Tensor:
    return torch.where(x.isnan(), x, (x < 0).to(x.dtype) * math.pi)


# --- integers --------------------------------------------------------------------------------------------------------


def _gcd(a: Tensor, b: Tensor) -> Tensor:
    """Euclid's, with the remainder of the smaller size: as many steps as the type's largest numbers may take."""
    a, b = torch.broadcast_tensors(a.abs(), b.abs())
    for _ in range(math.ceil(torch.iinfo(torch.result_type(a, b)).bits * math.log(2) / math.log(1 + math.sqrt(2)))):
        rest = torch.remainder(a, torch.where(b == 0, 1, b))
        a, b = torch.where(b == 0, a, b), torch.where(b == 0, 0, torch.minimum(rest, b - rest))
    return a


PARTS: dict[Any, Callable[..., Any]] = {
    aten.digamma.default: _digamma,
    aten.polygamma.default: _polygamma,
    aten.special_zeta: _zeta,
    aten.special_i0e.default: _i0e,
    aten.special_i1e.default: _i1e,
    aten.special_modified_bessel_i0.default: lambda x: aten.i0(x),
    aten.special_modified_bessel_i1.default: lambda x: aten.special_i1(x),
    aten.special_modified_bessel_k0.default: _second_kind(0, scaled=False),
    aten.special_modified_bessel_k1.default: _second_kind(1, scaled=False),
    aten.special_scaled_modified_bessel_k0.default: _second_kind(0, scaled=True),
    aten.special_scaled_modified_bessel_k1.default: _second_kind(1, scaled=True),
    aten.special_spherical_bessel_j0.default: _spherical_j0,
    aten.gcd.default: _gcd,
    aten.angle.default: _angle,
    **_POLYNOMIALS,
}
