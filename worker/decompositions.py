"""What operators are made of, for requests that name them in `split`: their parts are recorded in their place.

PyTorch's own table has most of them. Those here it lacks, or it has them in parts that are no simpler: it writes to
computed places by `index_put`, where a scatter says the same in one step that can be computed without atomics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch._decomp import decomposition_table

Tensor = torch.Tensor
aten = torch.ops.aten


def base_name(name: str) -> str:
    """An operator as requests name it: aten::index_add for aten::index_add_.out."""
    base = name.partition(".")[0]
    return base if base.endswith("__") else base.removesuffix("_")


def parts_of(function: Any) -> Callable[..., Any] | None:
    """Runs the operator as calls of others, or returns NotImplemented; None where nobody knows which calls."""
    functional = _functional_form(function)
    if functional is None:
        return _OURS.get(function) or _OURS.get(function.overloadpacket) or decomposition_table.get(function)
    parts = parts_of(functional)
    return None if parts is None else lambda x, *rest, **named: _written(x, parts(x, *rest, **named))


def _written(x: Tensor, result: Any) -> Any:
    return result if result is NotImplemented else x.copy_(result)


def _functional_form(function: Any) -> Any:
    """add for add_; None where there is none."""
    packet, _, overload = function.name().removeprefix("aten::").partition(".")
    if not packet.endswith("_") or packet.endswith("__"):
        return None
    return getattr(getattr(aten, packet[:-1], None), overload or "default", None)


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


# --- writes to computed places ---------------------------------------------------------------------------------------


def _along(index: Tensor, like: Tensor, dim: int) -> Tensor:
    """An index of one dimension as scatter wants it: an entry for each element."""
    shape = [1] * like.dim()
    shape[dim] = -1
    return index.reshape(shape).expand_as(like)


def _index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    if x.dim() == 0:
        return x + alpha * source.reshape(-1).sum().to(x.dtype)
    return x.scatter_add(dim, _along(index, source, dim), source if alpha == 1 else source * alpha)


def _index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    if x.dim() == 0:
        return source.reshape(()).clone()
    return x.scatter(dim, _along(index, source, dim), source)


def _index_fill(x: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    places = torch.arange(x.shape[dim] if x.dim() else 1, device=x.device)
    hit = (places.unsqueeze(1) == index.reshape(-1) % places.numel()).any(1)
    return torch.where(_along(hit, x, dim) if x.dim() else hit[0], value, x)


def _index_put(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Leading dimensions are indexed; the others follow whole."""
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype in (torch.bool, torch.uint8):
        return _masked_put(x, indices[0], values, accumulate)
    dims = [d for d, index in enumerate(indices) if index is not None]
    if any(indices[d].dtype in (torch.bool, torch.uint8) for d in dims):
        return NotImplemented
    order = dims + [d for d in range(x.dim()) if d not in dims]
    moved = x.permute(order)
    lines, rest = moved.shape[: len(dims)], moved.shape[len(dims) :]
    place = torch.zeros((), dtype=torch.int64, device=x.device)
    for size, dim in zip(lines, dims):
        place = place * size + torch.where(indices[dim] < 0, indices[dim] + size, indices[dim])
    spread = _in_front(x, dims, values.expand(_put_shape(x, dims, place.shape)), place.dim())
    flat = moved.reshape(math.prod(lines), math.prod(rest))
    new = spread.reshape(place.numel(), math.prod(rest))
    index = place.reshape(-1, 1).expand_as(new)
    put = flat.scatter_add(0, index, new) if accumulate else flat.scatter(0, index, new)
    return put.reshape(moved.shape).permute([order.index(d) for d in range(x.dim())])


def _adjacent(dims: list[int]) -> bool:
    return dims[-1] - dims[0] + 1 == len(dims)


def _put_shape(x: Tensor, dims: list[int], shape: torch.Size) -> list[int]:
    """Of x[indices]: the index tensors' own shape stands where they stand, or in front when they stand apart."""
    start = dims[0] if _adjacent(dims) else 0
    rest = [size for d, size in enumerate(x.shape) if d not in dims]
    return [*rest[:start], *shape, *rest[start:]]


def _in_front(x: Tensor, dims: list[int], values: Tensor, count: int) -> Tensor:
    """Values of x[indices] with the `count` dimensions of the index tensors first."""
    start = dims[0] if _adjacent(dims) else 0
    own = range(start, start + count)
    return values.permute([*own, *(d for d in range(values.dim()) if d not in own)])


def _masked_put(x: Tensor, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    if values.numel() != 1:
        return NotImplemented  # which of them goes where depends on the mask
    mask = mask.to(torch.bool).reshape([*mask.shape, *[1] * (x.dim() - mask.dim())])
    value = values.reshape(())
    return torch.where(mask, x + value if accumulate else value, x)


def _masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    mask, x = torch.broadcast_tensors(mask, x)
    taken = mask.reshape(-1).to(torch.int64).cumsum(0) - 1
    taken = taken.clamp(0, source.numel() - 1)
    return torch.where(mask, source.reshape(-1).index_select(0, taken).reshape(x.shape), x)


def _max_unpool(x: Tensor, indices: Tensor, output_size: list[int], *_: Any) -> Tensor:
    count = len(output_size)
    empty = x.new_zeros([*x.shape[:-count], math.prod(output_size)])
    filled = empty.scatter(-1, indices.flatten(-count), x.flatten(-count))
    return filled.unflatten(-1, output_size)


# --- order -----------------------------------------------------------------------------------------------------------


def _kth(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    values, order = x.sort(dim, stable=True)
    both = values.narrow(dim, k - 1, 1), order.narrow(dim, k - 1, 1)
    return both if keepdim else (both[0].squeeze(dim), both[1].squeeze(dim))


def _median(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """NaN where there is one: it is sorted to the end."""
    size = x.shape[dim] if x.dim() else 1
    values, order = _kth(x, (size + 1) // 2, dim, keepdim)
    if x.dim() == 0 or not x.is_floating_point():
        return values, order
    last, last_place = _kth(x, size, dim, keepdim)
    return torch.where(last.isnan(), last, values), torch.where(last.isnan(), last_place, order)


def _median_of_all(x: Tensor) -> Tensor:
    return _median(x.reshape(-1), 0)[0]


def _searched(sorted_values: Tensor, values: Any, right: bool, int32: bool) -> Tensor:
    values = values.unsqueeze(-1)
    before = sorted_values <= values if right else sorted_values < values
    return before.sum(-1, dtype=torch.int32 if int32 else torch.int64)


def _searchsorted(
    sorted_values: Tensor, values: Tensor, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    if sorter is not None:
        sorted_values = sorted_values.gather(-1, sorter)
    if sorted_values.dim() > 1:
        sorted_values = sorted_values.unsqueeze(-2)
    return _searched(sorted_values, values, right or side == "right", out_int32)


def _bucketize(values: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    return _searched(boundaries, values, right, out_int32)


_OURS: dict[Any, Callable[..., Any]] = {
    aten._cdist_forward: _cdist,
    aten._pdist_forward: _pdist,
    aten._trilinear: _trilinear,
    aten.index_add.default: _index_add,
    aten.index_copy.default: _index_copy,
    aten.index_fill.int_Scalar: _index_fill,
    aten.index_fill.int_Tensor: _index_fill,
    aten.index_put.default: _index_put,
    aten._unsafe_index_put.default: _index_put,
    aten.masked_scatter.default: _masked_scatter,
    aten.max_unpool2d.default: _max_unpool,
    aten.max_unpool3d.default: _max_unpool,
    aten.kthvalue.default: _kth,
    aten.median.dim: _median,
    aten.median.default: _median_of_all,
    aten.searchsorted.Tensor: _searchsorted,
    aten.bucketize.Tensor: _bucketize,
}
