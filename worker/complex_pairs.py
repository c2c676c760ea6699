"""Complex tensors as pairs of real ones, for requests with `split`: what is recorded of them is real arithmetic.

A `ComplexPair` looks like a complex tensor and carries the recording tensors of its two parts; nothing complex stands
on the tape. What it shares memory with shares memory by its parts, except for `view_as_real`, which is a new tensor.
An operator that is not here and has no parts of its own, such as a draw, takes and makes complex tensors: a step of
set-up then, which nobody else has to make, and otherwise one that whoever asked cannot know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

import decompositions
import fourier
import operators
from nested import leaves, map_leaves
from wrapper import make_wrapper

if TYPE_CHECKING:
    from tensors import Recording

Tensor = torch.Tensor
aten = torch.ops.aten

_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
_COMPLEX = {real: kind for kind, real in _REAL.items()}
_TELLING = (Tensor, complex, torch.dtype)  # what says that a call is about complex numbers


class ComplexPair(torch.Tensor):
    """A complex tensor of the program being recorded. `re`, `im`: recording tensors of one shape and dtype."""

    re: Tensor
    im: Tensor

    @staticmethod
    def __new__(cls, re: Tensor, im: Tensor) -> ComplexPair:
        self = make_wrapper(cls, re, _COMPLEX[re.dtype], re.device)
        self.re, self.im = re, im
        return self

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        from tensors import current

        return current().call(function, args, kwargs or {})


def concerns(function: Any, args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call takes or makes complex numbers."""
    if function.overloadpacket is aten.detach and not isinstance(args[0], ComplexPair):
        return False  # nn.Parameter asks for a tensor like the one it was given
    return function.overloadpacket in _MAKERS or any(_is_complex(leaf) for leaf in leaves((args, kwargs), _TELLING))


def run(recording: Recording, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Such a call, as calls on real tensors."""
    paired = lambda value: _paired(recording, value)
    args, kwargs = map_leaves(paired, args, Tensor), map_leaves(paired, kwargs, Tensor)
    with recording:
        own = _OURS.get(function) or _OURS.get(function.overloadpacket)
        if own is not None and (result := own(*args, **kwargs)) is not NotImplemented:
            return result
        written = function._schema.name.removeprefix("aten::")
        if written.endswith("_") and (functional := _ARITHMETIC.get(getattr(aten, written[:-1], None))):
            if (result := functional(*args, **kwargs)) is not NotImplemented:
                return _copy(args[0], result)
        if function.overloadpacket in _ON_EACH:
            return _each(function, args, kwargs)
        parts = operators.traits_of(function).parts or decompositions.parts_of(function)
        result = NotImplemented if parts is None else parts(*args, **kwargs)
        if result is not NotImplemented:
            return result
    whole = lambda pair: recording.step(aten.complex.default, (pair.re, pair.im), {})
    return recording.step(function, map_leaves(whole, args, ComplexPair), map_leaves(whole, kwargs, ComplexPair))


def make_whole(module: torch.nn.Module) -> None:
    """What a module has names for is one tensor, as in the program that its candidates are compared with. To be called
    where complex tensors are recorded as they are."""
    for owner in module.modules():
        for named in (owner._parameters, owner._buffers):
            for name, tensor in named.items():
                if isinstance(tensor, ComplexPair):
                    whole = aten.complex.default(tensor.re, tensor.im)
                    named[name] = torch.nn.Parameter(whole) if named is owner._parameters else whole


def _paired(recording: Recording, value: Any) -> Any:
    """Complex numbers, constants and results of steps before this call, in their parts."""
    if isinstance(value, ComplexPair) or not isinstance(value, Tensor) or value.dtype not in _REAL:
        return value
    parts = recording.step(aten.view_as_real.default, (value,), {})
    with recording:
        return ComplexPair(parts.select(-1, 0), parts.select(-1, 1))


def _is_complex(leaf: Any) -> bool:
    return isinstance(leaf, complex) or (leaf.dtype if isinstance(leaf, Tensor) else leaf) in _REAL


def _each(function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """What is linear and does not mix the parts, or moves elements only."""
    kwargs = {name: _REAL.get(v, v) if isinstance(v, torch.dtype) else v for name, v in kwargs.items()}
    numbers = (Tensor, complex)
    re, im = (function(*map_leaves(part, args, numbers), **map_leaves(part, kwargs, numbers)) for part in (_re, _im))
    if isinstance(re, (list, tuple)):
        return [ComplexPair(*parts) for parts in zip(re, im)]
    return ComplexPair(re, im)


def _re(x: Any) -> Any:
    return x.re if isinstance(x, ComplexPair) else x.real if isinstance(x, complex) else x


def _im(x: Any) -> Any:
    """Of a real number among complex ones: nothing. Conditions and indices stand for both parts."""
    if isinstance(x, ComplexPair):
        return x.im
    if isinstance(x, complex):
        return x.imag
    return torch.zeros_like(x) if isinstance(x, Tensor) and x.is_floating_point() else x


def _imaginary(x: Any) -> Any:
    """In arithmetic, where real numbers have none."""
    return 0.0 if _is_real(x) else _im(x)


def _is_real(x: Any) -> bool:
    return not isinstance(x, (ComplexPair, complex))


# --- arithmetic ------------------------------------------------------------------------------------------------------


def _add(a: Any, b: Any, alpha: float = 1) -> Any:
    scaled = b if alpha == 1 else _multiply(b, alpha)
    return _full(a, b, _re(a) + _re(scaled), _imaginary(a) + _imaginary(scaled))


def _subtract(a: Any, b: Any, alpha: float = 1) -> Any:
    scaled = b if alpha == 1 else _multiply(b, alpha)
    return _full(a, b, _re(a) - _re(scaled), _imaginary(a) - _imaginary(scaled))


def _full(a: Any, b: Any, re: Any, im: Any) -> Any:
    """Both parts have the shape and dtype of the result, also where one came of fewer operands."""
    if not isinstance(re, Tensor) and not isinstance(im, Tensor):
        return complex(re, im)
    dtype = torch.promote_types(*(x.dtype if isinstance(x, Tensor) else torch.float32 for x in (re, im)))
    like = re if isinstance(re, Tensor) else im
    re, im = (x if isinstance(x, Tensor) else torch.full_like(like, x) for x in (re, im))
    re, im = torch.broadcast_tensors(re.to(dtype), im.to(dtype))
    return ComplexPair(re, im)


def _multiply(a: Any, b: Any) -> Any:
    if _is_real(a):
        a, b = b, a
    if _is_real(a):
        return a * b
    if _is_real(b):
        return _full(a, b, _re(a) * b, _im(a) * b)
    return _full(a, b, _re(a) * _re(b) - _im(a) * _im(b), _re(a) * _im(b) + _im(a) * _re(b))


def _divide(a: Any, b: Any) -> Any:
    return _full(a, b, _re(a) / b, _im(a) / b) if _is_real(b) else _multiply(a, _reciprocal(b))


def _reciprocal(z: Any) -> Any:
    """Both parts by the larger one first: no square overflows."""
    if isinstance(z, complex):
        return 1 / z
    size = torch.maximum(z.re.abs(), z.im.abs())
    re, im = z.re / size, z.im / size
    square = (re * re + im * im) * size
    return ComplexPair(re / square, -im / square)


def _power(z: Any, exponent: Any) -> Any:
    if not isinstance(exponent, (int, float)) or exponent != int(exponent) or not 1 <= abs(exponent) <= 8:
        return _power_by_logarithm(z, exponent)
    result = z
    for _ in range(abs(int(exponent)) - 1):
        result = _multiply(result, z)
    return _reciprocal(result) if exponent < 0 else result


def _power_by_logarithm(z: Any, exponent: Any) -> Any:
    if not isinstance(z, ComplexPair):
        return NotImplemented
    if not isinstance(exponent, Tensor) and exponent == 0:
        return ComplexPair(torch.ones_like(z.re), torch.zeros_like(z.re))
    return _exp(_multiply(ComplexPair(_magnitude(z).log(), torch.atan2(z.im, z.re)), exponent))


def _magnitude(z: ComplexPair) -> Tensor:
    return torch.hypot(z.re, z.im)


def _exp(z: ComplexPair) -> ComplexPair:
    size = z.re.exp()
    return ComplexPair(size * z.im.cos(), size * z.im.sin())


def _sign(z: ComplexPair) -> ComplexPair:
    size = _magnitude(z)
    scale = torch.where(size == 0, 1.0, size)
    return ComplexPair(z.re / scale, z.im / scale)


def _square_root(z: ComplexPair) -> ComplexPair:
    size = _magnitude(z)
    large = ((size + z.re.abs()) * 0.5).sqrt()
    small = z.im.abs() / (2 * torch.where(large == 0, 1.0, large))
    im = torch.where(z.re < 0, large, small)
    return ComplexPair(torch.where(z.re < 0, small, large), torch.where(z.im < 0, -im, im))


def _mixed(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """A product of two: four real ones, or two where one factor is real."""

    def run(a: Any, b: Any) -> Any:
        if _is_real(a):
            return ComplexPair(function(a, b.re), function(a, b.im))
        if _is_real(b):
            return ComplexPair(function(a.re, b), function(a.im, b))
        re = function(a.re, b.re) - function(a.im, b.im)
        return ComplexPair(re, function(a.re, b.im) + function(a.im, b.re))

    return run


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    turned = weight.mT if _is_real(weight) else ComplexPair(weight.re.mT, weight.im.mT)
    product = _mixed(torch.matmul)(x, turned)
    return product if bias is None else _add(product, bias)


def _mean(z: ComplexPair, *args: Any, **kwargs: Any) -> ComplexPair:
    kwargs.pop("dtype", None)
    return ComplexPair(z.re.mean(*args, **kwargs), z.im.mean(*args, **kwargs))


def _equal(a: Any, b: Any) -> Tensor:
    return (_re(a) == _re(b)) & (_imaginary(a) == _imaginary(b))


def _norm(z: ComplexPair, p: Any = 2, *args: Any, **kwargs: Any) -> Tensor:
    kwargs.pop("dtype", None)
    return torch.linalg.vector_norm(_magnitude(z), p, *args, **kwargs)


# --- to complex numbers and back -------------------------------------------------------------------------------------


def _polar(size: Tensor, angle: Tensor) -> ComplexPair:
    return ComplexPair(size * angle.cos(), size * angle.sin())


def _from_real(x: Tensor) -> ComplexPair:
    return ComplexPair(x.select(-1, 0), x.select(-1, 1))


def _to_real(z: ComplexPair) -> Tensor:
    return torch.stack([z.re, z.im], -1)


def _converted(x: Any, *args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
    """x.to(dtype): into complex numbers, out of them, or from one kind to the other."""
    kwargs = {name: kwargs[name] for name in ("device", "memory_format") if kwargs.get(name) is not None}
    dtype = x.dtype if dtype is None else dtype
    if dtype not in _REAL:
        return aten._to_copy.default(x.re, dtype=dtype, **kwargs)
    real = _REAL[dtype]
    re = aten._to_copy.default(_re(x), dtype=real, **kwargs)
    return ComplexPair(re, torch.zeros_like(re) if _is_real(x) else aten._to_copy.default(x.im, dtype=real, **kwargs))


def _to(x: Any, *args: Any, **kwargs: Any) -> Any:
    given = [v for v in (*args, *kwargs.values()) if isinstance(v, torch.dtype)]
    given += [v.dtype for v in (*args, *kwargs.values()) if isinstance(v, Tensor)]
    devices = [v for v in (*args, *kwargs.values()) if isinstance(v, torch.device)]
    if x.dtype in (given or [x.dtype]) and not devices:
        return x
    return _converted(x, dtype=given[0] if given else None, **({"device": devices[0]} if devices else {}))


def _where(condition: Tensor, a: Any, b: Any) -> ComplexPair:
    return _full(a, b, torch.where(condition, _re(a), _re(b)), torch.where(condition, _imaginary(a), _imaginary(b)))


def _padded(z: ComplexPair, pad: list[int], value: float = 0) -> ComplexPair:
    return ComplexPair(aten.constant_pad_nd(z.re, pad, value), aten.constant_pad_nd(z.im, pad, 0))


def _in_place_view(view: Any) -> Callable[..., ComplexPair]:
    """t_(), squeeze_() and the like: the Python object names the view from now on."""

    def run(z: ComplexPair, *args: Any) -> ComplexPair:
        new = _each(view, (z, *args), {})
        torch._C.TensorBase.data.__set__(z, new)
        z.re, z.im = new.re, new.im
        return z

    return run


def _copy(target: Any, source: Any, non_blocking: bool = False) -> Any:
    if _is_real(target):
        target.copy_(_re(source))
        return target
    target.re.copy_(_re(source))
    if _is_real(source):
        target.im.zero_()
    else:
        target.im.copy_(_im(source))
    return target


_MAKERS = {aten.complex, aten.polar, aten.view_as_complex, aten._fft_r2c, aten._fft_c2c, aten._fft_c2r}

_ON_EACH = {
    getattr(aten, name)
    for name in (
        "_reshape_alias _unsafe_view alias as_strided cat clone contiguous cumsum detach diagonal diag_embed empty "
        "empty_like expand flip gather index index_select lift_fresh neg new_empty new_zeros permute repeat roll "
        "select select_scatter slice slice_scatter split split_with_sizes squeeze stack sum t transpose tril triu "
        "unbind unfold unsqueeze view zero_ zeros zeros_like"
    ).split()
}

_ARITHMETIC: dict[Any, Callable[..., Any]] = {
    aten.add: _add,
    aten.sub: _subtract,
    aten.rsub: lambda a, b, alpha=1: _subtract(b, a, alpha),
    aten.mul: _multiply,
    aten.div: _divide,
    aten.pow: _power,
    aten.reciprocal: _reciprocal,
    aten.square: lambda z: _multiply(z, z),
    aten.exp: _exp,
    aten.sqrt: _square_root,
    aten.sgn: _sign,
    aten.conj_physical: lambda z: z if _is_real(z) else ComplexPair(z.re, -z.im),
}

_OURS: dict[Any, Callable[..., Any]] = {
    **_ARITHMETIC,
    aten._conj: _ARITHMETIC[aten.conj_physical],
    aten._conj_physical: _ARITHMETIC[aten.conj_physical],
    aten.resolve_conj: lambda z: z,
    aten.resolve_neg: lambda z: z,
    aten.abs: _magnitude,
    aten.angle: lambda z: torch.atan2(z.im, z.re),
    aten.log: lambda z: ComplexPair(_magnitude(z).log(), torch.atan2(z.im, z.re)),
    aten.real: lambda z: z.re,
    aten.imag: lambda z: z.im,
    aten.eq: _equal,
    aten.ne: lambda a, b: ~_equal(a, b),
    aten.mean: _mean,
    aten.linalg_vector_norm: _norm,
    aten.matmul: _mixed(torch.matmul),
    aten.mm: _mixed(torch.mm),
    aten.bmm: _mixed(torch.bmm),
    aten.mv: _mixed(torch.mv),
    aten.linear: _linear,
    aten.complex: lambda re, im: ComplexPair(*torch.broadcast_tensors(re, im)),
    aten.polar: _polar,
    aten.view_as_complex: _from_real,
    aten.view_as_real: _to_real,
    aten._to_copy: _converted,
    aten.to: _to,
    aten.copy_: _copy,
    aten.where: _where,
    aten.constant_pad_nd: _padded,
    aten.ones_like: lambda z, **kwargs: ComplexPair(torch.ones_like(z.re), torch.zeros_like(z.im)),
    aten.t_: _in_place_view(aten.t),
    aten.transpose_: _in_place_view(aten.transpose.int),
    aten.squeeze_: _in_place_view(aten.squeeze),
    aten.unsqueeze_: _in_place_view(aten.unsqueeze),
    aten._fft_r2c: lambda *args: ComplexPair(*fourier.of_real(*args)),
    aten._fft_c2c: lambda z, *args: ComplexPair(*fourier.of_complex(z.re, z.im, *args)),
    aten._fft_c2r: lambda z, *args: fourier.to_real(z.re, z.im, *args),
}
