"""What operators are made of, for requests that name them in `split`: their parts are recorded in their place.

PyTorch's own table has most of them. It lacks those here and in the modules `*_decompositions` beside it, or has them
in parts that are no simpler: in views by strides, in the operator itself.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch._decomp import decomposition_table

import index_decompositions
import integral_decompositions
import layer_decompositions
import linalg_decompositions
import place_decompositions
import special_decompositions
import window_decompositions

Tensor = torch.Tensor
aten = torch.ops.aten


def base_name(name: str) -> str:
    """An operator as requests name it: aten::index_add for aten::index_add_.out."""
    base = name.partition(".")[0]
    return base if base.endswith("__") else base.removesuffix("_")


def parts_of(function: Any) -> Callable[..., Any] | None:
    """Runs the operator as calls of others, or returns NotImplemented; None where nobody knows which calls."""
    own = _OURS.get(function) or _OURS.get(function.overloadpacket)
    if own is None and function.name().startswith("aten::_foreach_"):
        return on_each(function)
    if own is None and torch.Tag.nondeterministic_seeded in function.tags:
        return None  # its parts would draw other numbers
    functional, known = _functional_form(function), own or decomposition_table.get(function)
    if known is None and (plain := _without_out(function)) is not None:
        return lambda *args, **named: _into_out(function, plain, args, named)
    if own is not None or functional is None:
        return known
    parts = parts_of(functional)
    return None if parts is None else lambda x, *rest, **named: _written(x, parts(x, *rest, **named))


def on_each(function: Any) -> Callable[..., Any]:
    """_foreach_add and its like: the operator on each tensor of the lists; lists of numbers go along, and the last of
    three lists of tensors has a number that PyTorch calls `value`."""
    operator = getattr(aten, function.overloadpacket.__name__.removeprefix("_foreach_"), None)
    operator = aten.linalg_vector_norm if operator is aten.norm else operator
    if operator is None:
        return lambda *args, **kwargs: NotImplemented

    def run(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 4:
            args, kwargs = args[:3], {"value": args[3]}
        count = len(args[0])
        at = lambda value, i: value[i] if isinstance(value, (list, tuple)) else value
        results = [operator(*(at(a, i) for a in args), **{n: at(v, i) for n, v in kwargs.items()}) for i in range(count)]
        return results if function._schema.returns else None

    return run


def _functional_form(function: Any) -> Any:
    """add for add_; None where there is none."""
    packet, _, overload = function.name().removeprefix("aten::").partition(".")
    if not packet.endswith("_") or packet.endswith("__"):
        return None
    return getattr(getattr(aten, packet[:-1], None), overload or "default", None)


def _without_out(function: Any) -> Any:
    """aten::max.dim for aten::max.dim_max: the overload that takes the same but out=; None where there is none."""
    arguments = function._schema.arguments
    if not any(a.is_out for a in arguments):
        return None
    given = [(a.name, str(a.type)) for a in arguments if not a.is_out]
    packet = function.overloadpacket
    found = [getattr(packet, name) for name in packet.overloads()]
    return next((f for f in found if [(a.name, str(a.type)) for a in f._schema.arguments] == given), None)


def _into_out(function: Any, plain: Any, args: tuple, named: dict[str, Any]) -> Any:
    """What they hold keeps its dtype; another size is not for parts to say."""
    outs = [named.pop(a.name) for a in function._schema.arguments if a.is_out]
    results = plain(*args, **named)
    results = results if isinstance(results, tuple) else (results,)
    if any(out.shape != result.shape for out, result in zip(outs, results)):
        return NotImplemented
    for out, result in zip(outs, results):
        out.copy_(result)
    return tuple(outs) if len(outs) > 1 else outs[0]


def _written(x: Tensor, result: Any) -> Any:
    return result if result is NotImplemented else x.copy_(result)


# --- distances and products ------------------------------------------------------------------------------------------


def _cdist(a: Tensor, b: Tensor, p: float, compute_mode: int | None) -> Tensor:
    return _length(a.unsqueeze(-2) - b.unsqueeze(-3), p)


def _pdist(x: Tensor, p: float = 2.0) -> Tensor:
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1, device=x.device)
    return _length(x[first] - x[second], p)


def _length(x: Tensor, p: float) -> Tensor:
    """Of the last dimension, in the norm p."""
    if p == 0:
        return (x != 0).to(x.dtype).sum(-1)
    if p == 1:
        return x.abs().sum(-1)
    if p == 2:
        return (x * x).sum(-1).sqrt()
    if p == math.inf:
        return x.abs().amax(-1)
    return x.abs().pow(p).sum(-1).pow(1 / p)


def _trilinear(
    a: Tensor, b: Tensor, c: Tensor, expand_a: list[int], expand_b: list[int], expand_c: list[int], sum_dim: list[int],
    unroll_dim: int = 1,
) -> Tensor:  # fmt: skip
    if (expand_a, expand_b, expand_c, sum_dim) == ([1, 3], [0], [1, 2], [2, 3]):  # nn.Bilinear: most is a product
        products = F.linear(a, b.transpose(1, 2).flatten(0, 1))  # of a and each [output, right]
        return (products.unflatten(1, (b.shape[0], b.shape[2])) * c.unsqueeze(1)).sum(-1)
    for dim in expand_a:
        a = a.unsqueeze(dim)
    for dim in expand_b:
        b = b.unsqueeze(dim)
    for dim in expand_c:
        c = c.unsqueeze(dim)
    return (a * b * c).sum(sum_dim)


def _addbmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return beta * x + alpha * torch.bmm(a, b).sum(0)


def _cross(a: Tensor, b: Tensor, *, dim: int = -1) -> Tensor:
    a, b = torch.broadcast_tensors(a, b)
    (a0, a1, a2), (b0, b1, b2) = a.unbind(dim), b.unbind(dim)
    return torch.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], dim)


def _block_diag(tensors: list[Tensor]) -> Tensor:
    blocks = [t if t.dim() == 2 else t.reshape(1, -1) for t in tensors]
    width, left, rows = sum(t.shape[1] for t in blocks), 0, []
    for block in blocks:
        rows.append(F.pad(block, (left, width - left - block.shape[1])))
        left += block.shape[1]
    return torch.cat(rows)


# --- element by element, and along lines -----------------------------------------------------------------------------


def _hypot(a: Tensor, b: Tensor) -> Tensor:
    """The squares of neither overflow."""
    a, b = a.abs(), b.abs()
    large, small = torch.maximum(a, b), torch.minimum(a, b)
    length = large * ((small / large).square() + 1).sqrt()
    return torch.where((large == 0) | (large == math.inf), large, length)


def _fmax(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(a.isnan() | (b > a), b, a)


def _fmin(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(a.isnan() | (b < a), b, a)


def _signbit(x: Tensor) -> Tensor:
    return (x < 0) | ((x == 0) & (1 / x < 0)) if x.is_floating_point() else x < 0


def _asinh(x: Tensor) -> Tensor:
    size = x.abs()
    return torch.log1p(size + size * size / (1 + (size * size + 1).sqrt())) * x.sign()


def _acosh(x: Tensor) -> Tensor:
    return (x + ((x - 1) * (x + 1)).sqrt()).log()


def _atanh(x: Tensor) -> Tensor:
    return 0.5 * torch.log1p(2 * x / (1 - x))


def _copysign(x: Tensor, other: Tensor) -> Tensor:
    dtype = torch.result_type(x, other)
    x = x.to(dtype if dtype.is_floating_point else torch.get_default_dtype())
    return torch.where(_signbit(other), -x.abs(), x.abs())


def _frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithm may be off by one where it is rounded up to a whole number, or is of a number that has no leading
    bit; powers of two are exact, and in two steps none of them overflows."""
    wide = x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x
    whole = (wide != 0) & (wide.abs() < math.inf)
    small = wide.abs() < torch.finfo(wide.dtype).tiny
    shift = 64 if wide.dtype == torch.float64 else 32  # of numbers without a leading bit
    scaled = torch.where(whole, torch.where(small, wide * 2.0**shift, wide), 1.0)
    exponent = scaled.abs().log2().floor() + 1
    half = (exponent / 2).trunc()
    mantissa = scaled * torch.exp2(-half) * torch.exp2(half - exponent)
    above, below = mantissa.abs() >= 1, mantissa.abs() < 0.5
    exponent = torch.where(above, exponent + 1, torch.where(below, exponent - 1, exponent))
    mantissa = torch.where(above, mantissa * 0.5, torch.where(below, mantissa * 2, mantissa))
    exponent = torch.where(small, exponent - shift, exponent)
    return torch.where(whole, mantissa, wide).to(x.dtype), torch.where(whole, exponent, 0).to(torch.int32)


def _of_number(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A number in front of a tensor, as a tensor of the dtype in which both are computed."""
    return lambda number, x: function(
        torch.full((), number, dtype=torch.result_type(number, x), device=x.device), x
    )


def _rrelu(x: Tensor, noise: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    return NotImplemented if training else F.leaky_relu(x, (lower + upper) / 2)


def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    low, high = (x.amin(), x.amax()) if min == max else (min, max)
    bin_of = ((x - low) * (bins / (high - low))).floor().clamp(max=bins - 1)
    bin_of = torch.where((x >= low) & (x <= high), bin_of, bins).reshape(-1).to(torch.int64)  # outside: one bin more
    counts = torch.zeros(bins + 1, dtype=x.dtype, device=x.device)
    return counts.scatter_add(0, bin_of, torch.ones_like(bin_of, dtype=x.dtype))[:bins]


# --- pictures --------------------------------------------------------------------------------------------------------


def _grid_sampler_2d(x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    # PyTorch's own counts reflections in 8 bits: a grid far outside has more.
    own = padding == 2 and mode != 2
    return (_grid_sampler if own else decomposition_table[aten.grid_sampler_2d.default])(x, grid, mode, padding, align_corners)


def _grid_sampler(x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    count, channels, *sizes = x.shape
    choices = []  # by dimension: places, each with its weight
    for dim, size in enumerate(sizes):
        place = _sampled_place(grid[..., len(sizes) - 1 - dim].unsqueeze(1), size, padding, align_corners)
        low = place.floor()
        choices.append([(place.round(), 1.0)] if mode == 1 else [(low, low + 1 - place), (low + 1, place - low)])
    batch = torch.arange(count, device=x.device).view(-1, 1, *[1 for _ in sizes])
    channel = torch.arange(channels, device=x.device).view(-1, *[1 for _ in sizes])
    total = 0.0
    for corner in itertools.product(*choices):
        inside = functools.reduce(operator.and_, [(p >= 0) & (p < size) for (p, _), size in zip(corner, sizes)])
        index = [torch.where(inside, p, 0).to(torch.int64) for p, _ in corner]
        weight = math.prod(w for _, w in corner)
        total = total + torch.where(inside, x[(batch, channel, *index)] * weight, 0)
    return total


def _sampled_place(at: Tensor, size: int, padding: int, align_corners: bool) -> Tensor:
    """From -1…1 to indices of a line; outside of it they are clamped (padding 1) or reflected (2)."""
    place = (at + 1) * ((size - 1) / 2) if align_corners else ((at + 1) * size - 1) / 2
    if padding == 2:
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            return torch.zeros_like(place)
        away = (place - low).abs()
        turns, rest = (away / span).floor(), torch.fmod(away, span)
        place = torch.where(torch.remainder(turns, 2) == 0, rest, span - rest) + low
    return place if padding == 0 else place.clamp(0, size - 1)


_OURS: dict[Any, Callable[..., Any]] = {
    **index_decompositions.PARTS,
    **layer_decompositions.PARTS,
    **integral_decompositions.PARTS,
    **linalg_decompositions.PARTS,
    **place_decompositions.PARTS,
    **special_decompositions.PARTS,
    **window_decompositions.PARTS,
    aten.__lshift__: lambda x, other: torch.bitwise_left_shift(x, other),
    aten.__rshift__: lambda x, other: torch.bitwise_right_shift(x, other),
    aten._cdist_forward: _cdist,
    aten._pdist_forward: _pdist,
    aten._trilinear: _trilinear,
    aten.addbmm.default: _addbmm,
    aten._int_mm.default: lambda a, b: torch.mm(a.to(torch.int32), b.to(torch.int32)),
    aten.conv_tbc.default: lambda x, w, b, pad=0: F.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=pad).permute(2, 0, 1),
    aten.linalg_cross.default: _cross,
    aten.block_diag.default: _block_diag,
    aten.hypot.default: _hypot,
    aten.fmax.default: _fmax,
    aten.fmin.default: _fmin,
    aten.signbit.default: _signbit,
    aten.asinh.default: _asinh,
    aten.acosh.default: _acosh,
    aten.atanh.default: _atanh,
    aten.copysign.Tensor: _copysign,
    aten.frexp.Tensor: _frexp,
    aten.remainder.Scalar_Tensor: _of_number(torch.remainder),
    aten.bitwise_and.Scalar_Tensor: _of_number(torch.bitwise_and),
    aten.bitwise_or.Scalar_Tensor: _of_number(torch.bitwise_or),
    aten.bitwise_xor.Scalar_Tensor: _of_number(torch.bitwise_xor),
    aten.bitwise_left_shift.Scalar_Tensor: _of_number(torch.bitwise_left_shift),
    aten.bitwise_right_shift.Scalar_Tensor: _of_number(torch.bitwise_right_shift),
    aten.isin.Scalar_Tensor: lambda number, test, *, assume_unique=False, invert=False: (test != number).all() if invert else (test == number).any(),
    aten.detach_copy.default: lambda x: x.clone(),
    aten.select_copy.int: lambda x, dim, index: x.select(dim, index).clone(),
    aten.slice_copy.Tensor: lambda x, dim=0, start=None, end=None, step=1: aten.slice(x, dim, start, end, step).clone(),
    aten.split_copy.Tensor: lambda x, size, dim=0: [part.clone() for part in x.split(size, dim)],
    aten.rrelu_with_noise.default: _rrelu,
    aten.histc.default: _histc,
    aten.grid_sampler_2d: _grid_sampler_2d,
    aten.grid_sampler_3d: _grid_sampler,
}
