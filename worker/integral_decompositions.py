"""Parts of functions that are integrals: the incomplete gamma functions and Airy's function.

The incomplete gamma functions are sums over fixed nodes, not loops that end when a term is small: a kernel has no such
loop, and PyTorch's runs up to 2000 times.
"""

from __future__ import annotations

import math

import torch

from special_decompositions import in_floats, polynomial

Tensor = torch.Tensor
aten = torch.ops.aten

# --- incomplete gamma functions --------------------------------------------------------------------------------------

_NODES = {torch.float32: 48, torch.float64: 96}  # their errors are below the rounding of the dtype
_FIRST_NODE, _LAST_NODE = -4.0, 4.0
_STIRLING_FROM = 10.0


def _nodes(like: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights on (0, inf) for what decays exponentially: t = exp(y - exp(-y)), and the trapezoidal rule for
    y (double exponential; Takahasi and Mori 1974)."""
    count = _NODES[like.dtype]
    step = (_LAST_NODE - _FIRST_NODE) / (count - 1)
    y = torch.arange(count, device=like.device).to(like.dtype) * step + _FIRST_NODE
    shrunk = (-y).exp()
    node = (y - shrunk).exp()
    return node, node * (1 + shrunk) * step


def _exp_less_line(v: Tensor) -> Tensor:
    """exp(v) - 1 - v, by its series where these cancel."""
    near = v.clamp(-0.5, 0.5)
    series = near * near * polynomial(near, [1 / math.factorial(k) for k in range(15, 1, -1)])
    return torch.where(v.abs() < 0.5, series, v.expm1() - v)


def _log_less_line(r: Tensor) -> Tensor:
    """log(1 + r) - r, by the series of the inverse hyperbolic tangent where these cancel."""
    near = r.clamp(-0.5, 0.5)
    s = near / (2 + near)
    square = s * s
    series = 2 * s * square * polynomial(square, [1 / k for k in range(33, 1, -2)]) - near * s
    return torch.where(r.abs() < 0.5, series, r.log1p() - r)


def _prefactor(a: Tensor, x: Tensor) -> Tensor:
    """x^a exp(-x) / gamma(a + 1). Where a is large its logarithms would cancel: Stirling's formula around x = a."""
    near = a.clamp(max=_STIRLING_FROM)
    small = (near * x.log() - x - torch.lgamma(near + 1)).exp()
    far = a.clamp(min=_STIRLING_FROM)
    z, ratio = 1 / (far * far), (x - far) / far
    series = polynomial(z, (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)) / far
    large = (far * _log_less_line(ratio) - series).exp() / (2 * math.pi * far).sqrt()
    return torch.where(a > _STIRLING_FROM, large, small)


def _lower_factor(a: Tensor, x: Tensor) -> Tensor:
    """What the prefactor is multiplied by where x <= a + 1: Kummer's M(1, a + 1, x) as an integral, of M(1, a + 2, x),
    whose integrand has no singular end."""
    node, weight = _nodes(a)
    a, x = a.unsqueeze(-1), torch.minimum(x, a + 1).unsqueeze(-1)
    width = 1 / torch.maximum(a + 2 - x, x.sqrt())
    v = node * width
    parts = (-x * _exp_less_line(-v) - (a + 1 - x) * v).exp() * (weight * width * (a + 1))
    return 1 + (x / (a + 1)).squeeze(-1) * parts.sum(-1)


def _upper_factor(a: Tensor, x: Tensor) -> Tensor:
    """The same of the upper function where x > a + 1."""
    node, weight = _nodes(a)
    a, x = a.unsqueeze(-1), torch.maximum(x, a + 1).unsqueeze(-1)
    width = 1 / torch.maximum(x - a, x.sqrt())
    v = node * width
    return (((a - x) * v - x * _exp_less_line(v)).exp() * (weight * width * a)).sum(-1)


def _incomplete_gamma(a: Tensor, x: Tensor, upper: bool) -> Tensor:
    a, x = torch.broadcast_tensors(a, x)
    # Arguments without an integral get their values at the end.
    inside = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    safe_a, safe_x = torch.where(inside, a, 1.0), torch.where(inside, x, 1.0)
    factor, low = _prefactor(safe_a, safe_x), safe_x <= safe_a + 1
    part = factor * torch.where(low, _lower_factor(safe_a, safe_x), _upper_factor(safe_a, safe_x))
    value = torch.where(low, 1 - part, part) if upper else torch.where(low, part, 1 - part)
    nothing, everything = (1.0, 0.0) if upper else (0.0, 1.0)  # of the function lies below x
    value = torch.where(x == math.inf, everything, torch.where(inside, value, math.nan))
    value = torch.where(a == math.inf, torch.where(x == math.inf, math.nan, nothing), value)
    value = torch.where(x == 0, nothing, value)
    value = torch.where(a == 0, torch.where(x > 0, everything, math.nan), value)
    return torch.where((a < 0) | (x < 0), math.nan, value)


@in_floats
def _igamma(a: Tensor, x: Tensor) -> Tensor:
    return _incomplete_gamma(a, x, upper=False)


@in_floats
def _igammac(a: Tensor, x: Tensor) -> Tensor:
    return _incomplete_gamma(a, x, upper=True)


# --- Airy's function -------------------------------------------------------------------------------------------------

# ATen/native/Math.h, which has them from Cephes; highest degree first, all coefficients written out.
_AIRY_ABOVE = (
    (
        3.46538101525629032477e-01, 1.20075952739645805542e01, 7.62796053615234516538e01, 1.68089224934630576269e02,
        1.59756391350164413639e02, 7.05360906840444183113e01, 1.40264691163389668864e01, 9.99999999999999995305e-01,
    ),
    (
        5.67594532638770212846e-01, 1.47562562584847203173e01, 8.45138970141474626562e01, 1.77318088145400459522e02,
        1.64234692871529701831e02, 7.14778400825575695274e01, 1.40959135607834029598e01, 1.00000000000000000470e00,
    ),
)  # fmt: skip
_AIRY_SINE = (
    (
        -1.31696323418331795333e-01, -6.26456544431912369773e-01, -6.93158036036933542233e-01,
        -2.79779981545119124951e-01, -4.91900132609500318020e-02, -4.06265923594885404393e-03,
        -1.59276496239262096340e-04, -2.77649108155232920844e-06, -1.67787698489114633780e-08,
    ),
    (
        1.33560420706553243746e01, 3.26825032795224613948e01, 2.67367040941499554804e01, 9.18707402907259625840e00,
        1.47529146771666414581e00, 1.15687173795188044134e-01, 4.40291641615211203805e-03, 7.54720348287414296618e-05,
        4.51850092970580378464e-07,
    ),
)  # fmt: skip
_AIRY_COSINE = (
    (
        1.97339932091685679179e-02, 3.91103029615688277255e-01, 1.06579897599595591108e00, 9.39169229816650230044e-01,
        3.51465656105547619242e-01, 6.33888919628925490927e-02, 5.85804113048388458567e-03, 2.82851600836737019778e-04,
        6.98793669997260967291e-06, 8.11789239554389293311e-08, 3.41551784765923618484e-10,
    ),
    (
        9.30892908077441974853e00, 1.98352928718312140417e01, 1.55646628932864612953e01, 5.47686069422975497931e00,
        9.54293611618961883998e-01, 8.64580826352392193095e-02, 4.12656523824222607191e-03, 1.01259085116509135510e-04,
        1.17166733214413521882e-06, 4.91834570062930015649e-09,
    ),
)  # fmt: skip
_SERIES_WITHIN, _AIRY_VANISHES = 2.09, 103.892
_AIRY_TERMS = 14  # of Maclaurin's series, where |x|^3 is 9 at most


def _quotient(x: Tensor, both: tuple[tuple[float, ...], tuple[float, ...]]) -> Tensor:
    return polynomial(x, both[0]) / polynomial(x, both[1])


def _airy_series(x: Tensor) -> Tensor:
    cube, f, g = x * x * x, [1.0], [1.0]
    for k in range(1, _AIRY_TERMS):
        f.append(f[-1] / ((3 * k - 1) * (3 * k)))
        g.append(g[-1] / ((3 * k) * (3 * k + 1)))
    return 0.355028053887817239260 * polynomial(cube, f[::-1]) - 0.258819403792806798405 * x * polynomial(
        cube, g[::-1]
    )


@in_floats
def _airy(x: Tensor) -> Tensor:
    size = x.abs().clamp(min=_SERIES_WITHIN)
    zeta = 2 * size * size.sqrt() / 3
    scale = 1 / math.sqrt(math.pi) / size.sqrt().sqrt()
    above = 0.5 * scale * _quotient(1 / zeta, _AIRY_ABOVE) * (-zeta).exp()
    z, angle = 1 / zeta, zeta + 0.25 * math.pi
    sine = angle.sin() * (1 + z * z * _quotient(z * z, _AIRY_SINE))
    below = scale * (sine - angle.cos() * (z * _quotient(z * z, _AIRY_COSINE)))
    value = torch.where(x < -_SERIES_WITHIN, below, torch.where(x >= _SERIES_WITHIN, above, _airy_series(x)))
    value = torch.where(x > _AIRY_VANISHES, 0.0, value)
    return torch.where(x.abs() == math.inf, math.nan, value)


PARTS = {
    aten.igamma.default: _igamma,
    aten.igammac.default: _igammac,
    aten.special_airy_ai.default: _airy,
}
