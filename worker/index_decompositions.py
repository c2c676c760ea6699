"""Parts of operators that read or write at computed places, or go by the order of elements.

PyTorch's table writes by `index_put`. A scatter says the same in one step, which a small one computes without atomics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch

Tensor = torch.Tensor
aten = torch.ops.aten

LONGEST_LINE = 4096  # where every element meets every other


def _along(index: Tensor, like: Tensor, dim: int) -> Tensor:
    """An index of one dimension as scatter wants it: an entry for each element."""
    shape = [1] * like.dim()
    shape[dim] = -1
    return index.reshape(shape).expand_as(like)


def _from_front(index: Tensor, size: int) -> Tensor:
    """Negative indices count from the end."""
    return torch.where(index < 0, index + size, index)


def _index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    if x.dim() == 0:
        return x + alpha * source.reshape(-1).sum().to(x.dtype)
    return x.scatter_add(dim, _along(index, source, dim), source if alpha == 1 else source * alpha)


def _index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    if x.dim() == 0:
        return source.reshape(()).clone()
    return x.scatter(dim, _along(index, source, dim), source)


def _index_fill(x: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    size = x.shape[dim] if x.dim() else 1
    places = torch.arange(size, device=x.device)
    hit = (places.unsqueeze(1) == _from_front(index.reshape(-1), size)).any(1)
    return torch.where(_along(hit, x, dim) if x.dim() else hit[0], value, x)


def _index_put(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    # Places and single numbers may lie on the CPU: y[torch.arange(4), i] = 5.
    indices, values = [index if index is None else index.to(x.device) for index in indices], values.to(x.device)
    dims = [d for d, index in enumerate(indices) if index is not None]
    if len(dims) == 1 and indices[dims[0]].dtype in (torch.bool, torch.uint8):
        return _masked_put(x, dims[0], indices[dims[0]], values, accumulate)
    if any(indices[d].dtype in (torch.bool, torch.uint8) for d in dims):
        return NotImplemented
    order = dims + [d for d in range(x.dim()) if d not in dims]
    moved = x.permute(order)
    lines, rest = moved.shape[: len(dims)], moved.shape[len(dims) :]
    place = torch.zeros((), dtype=torch.int64, device=x.device)
    for size, dim in zip(lines, dims):
        place = place * size + _from_front(indices[dim], size)
    spread = _indices_first(x, dims, values, place.shape)
    flat = moved.reshape(math.prod(lines), math.prod(rest))
    new = spread.reshape(place.numel(), math.prod(rest))
    index = place.reshape(-1, 1).expand_as(new)
    put = flat.scatter_add(0, index, new) if accumulate else flat.scatter(0, index, new)
    return put.reshape(moved.shape).permute([order.index(d) for d in range(x.dim())])


def _indices_first(x: Tensor, dims: list[int], values: Tensor, shape: torch.Size) -> Tensor:
    """Values of x[indices] with the index tensors' own `shape` in front. It stands where those stand, when together."""
    start = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    rest = [size for d, size in enumerate(x.shape) if d not in dims]
    values = values.expand([*rest[:start], *shape, *rest[start:]])
    own = range(start, start + len(shape))
    return values.permute([*own, *(d for d in range(values.dim()) if d not in own)])


def _masked_put(x: Tensor, first: int, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    """`first`: the first dimension that the mask is of."""
    rest = x.dim() - first - mask.dim()
    lead = values.dim() - rest - 1
    if lead >= 0:
        if values.shape[lead] != 1:
            return NotImplemented  # which of them goes where depends on the mask
        values = values.reshape([*values.shape[:lead], *[1] * mask.dim(), *values.shape[lead + 1 :]])
    mask = mask.to(torch.bool).reshape([*mask.shape, *[1] * rest])
    return torch.where(mask, x + values if accumulate else values, x)


def _masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    mask, x = torch.broadcast_tensors(mask, x)
    taken = mask.reshape(-1).to(torch.int64).cumsum(0) - 1
    taken = taken.clamp(0, source.numel() - 1)
    return torch.where(mask, source.reshape(-1).index_select(0, taken).reshape(x.shape), x)


def _max_unpool(x: Tensor, indices: Tensor, output_size: list[int], *_: Any) -> Tensor:
    count = len(output_size)
    zeros = torch.zeros([*x.shape[:-count], math.prod(output_size)], dtype=x.dtype, device=x.device)
    return zeros.scatter(-1, indices.flatten(-count), x.flatten(-count)).unflatten(-1, output_size)


# --- reads -----------------------------------------------------------------------------------------------------------


def _take(x: Tensor, index: Tensor) -> Tensor:
    return x.reshape(-1)[index]


def _unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    if x.dim() == 0:
        return NotImplemented
    count = (x.shape[dim] - size) // step + 1
    start = torch.arange(count, device=x.device) * step
    places = start.unsqueeze(1) + torch.arange(size, device=x.device)
    return x.movedim(dim, -1)[..., places].movedim(-2, dim % x.dim())


def _diagonal_of(x: Tensor, offset: int, dim1: int, dim2: int) -> tuple[Tensor, slice]:
    """x with two dimensions as one, the last, and where their diagonal is in it."""
    rows, columns = x.shape[dim1], x.shape[dim2]
    start = offset if offset >= 0 else -offset * columns
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    end = start + (count - 1) * (columns + 1) + 1 if count else start
    return x.movedim((dim1, dim2), (-2, -1)).flatten(-2), slice(start, end, columns + 1)


def _diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    flat, where = _diagonal_of(x, offset, dim1, dim2)
    return flat[..., where]


def _diagonal_scatter(x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    flat, where = _diagonal_of(x, offset, dim1, dim2)
    written = flat.slice_scatter(source, -1, where.start, where.stop, where.step)
    return written.unflatten(-1, (x.shape[dim1], x.shape[dim2])).movedim((-2, -1), (dim1, dim2))


def _triangle(rows: int, columns: int, offset: int, lower: bool, device: Any) -> Tensor:
    """Row and column of each element, row by row."""
    row = torch.arange(rows, device=device)
    first = row * 0 if lower else (row + offset).clamp(0, columns)
    length = (row + (offset + 1)).clamp(0, columns) if lower else columns - first
    below = sum(min(max(r + offset + lower, 0), columns) for r in range(rows))  # in front of the diagonal, or on it
    total = below if lower else rows * columns - below
    end, number = length.cumsum(0), torch.arange(total, device=device)
    of = (end <= number.unsqueeze(1)).sum(1)
    return torch.stack([of, number - (end - length - first).index_select(0, of)])


def _triangle_indices(lower: bool) -> Callable[..., Tensor]:
    def run(rows: int, columns: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
        return _triangle(rows, columns, offset, lower, device).to(dtype or torch.int64)

    return run


def _embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:  # fmt: skip
    """Bags of one length are lines; of others each row looks for its own. Further results are for the backward pass:
    as recorded, there are none."""
    if indices.dim() != 1 or indices.numel() == 0:
        return NotImplemented
    rows = weight.index_select(0, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    counts = torch.ones_like(indices, dtype=weight.dtype)
    if padding_idx >= 0:
        counts = (indices != padding_idx).to(weight.dtype)
        rows = torch.where((indices == padding_idx).unsqueeze(1), -math.inf if mode == 2 else 0, rows)
    bags = offsets.numel() - int(include_last_offset)
    length = indices.numel() // max(bags, 1)
    starts = value_known(offsets)
    if starts is not None and starts.tolist() == [length * i for i in range(starts.numel())] and length * bags == indices.numel():
        lines, counts = rows.unflatten(0, (bags, length)), counts.reshape(bags, length).sum(1)
        bag = lines.amax(1) if mode == 2 else lines.sum(1)
    else:
        of = searchsorted(offsets, torch.arange(indices.numel(), device=indices.device), right=True) - 1
        counts = torch.zeros(bags + 1, dtype=weight.dtype, device=weight.device).index_add(0, of, counts)[:bags]
        start = torch.full((bags + 1, weight.shape[1]), -math.inf if mode == 2 else 0.0, dtype=weight.dtype, device=weight.device)
        places = _along(of, rows, 0)
        bag = (start.scatter_reduce(0, places, rows, "amax") if mode == 2 else start.scatter_add(0, places, rows))[:bags]
    if mode == 1:
        bag = bag / counts.clamp(min=1).unsqueeze(1)
    if mode == 2:
        bag = torch.where(counts.unsqueeze(1) > 0, bag, 0)
    return bag, None, None, None


def value_known(tensor: Tensor) -> Tensor | None:
    """The value of a tensor that the program's text alone decides."""
    from tensors import RecordingTensor, current

    if not isinstance(tensor, RecordingTensor):
        return tensor
    with no_dispatch():
        return current().tape.evaluate(tensor.tid)


# --- order -----------------------------------------------------------------------------------------------------------


def _kth(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    both = (sorted_.narrow(dim, k - 1, 1) for sorted_ in torch.sort(x, dim=dim, stable=True))
    return tuple(one if keepdim else one.squeeze(dim) for one in both)


def _median(x: Tensor, dim: int = -1, keepdim: bool = False, skip_nan: bool = False) -> tuple[Tensor, Tensor]:
    """NaN are sorted to the end: with one there the median is that, or is among the elements before."""
    if x.dim() == 0 or not x.is_floating_point():
        return _kth(x, (x.shape[dim] + 1) // 2 if x.dim() else 1, dim, keepdim)
    values, order = torch.sort(x, dim=dim, stable=True)
    if skip_nan:
        numbers = (x == x).to(torch.float32).sum(dim, keepdim=True)
        place = ((numbers - 1) / 2).floor().clamp(min=0).to(torch.int64)
        both = values.gather(dim, place), order.gather(dim, place)
    else:
        size = x.shape[dim]
        last = values.narrow(dim, size - 1, 1).isnan()
        both = (
            torch.where(last, one.narrow(dim, size - 1, 1), one.narrow(dim, (size - 1) // 2, 1))
            for one in (values, order)
        )
    return tuple(one if keepdim else one.squeeze(dim) for one in both)


def _nanmedian(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _median(x, dim, keepdim, skip_nan=True)


SHORT_LINE = 64  # of which every element is compared; a longer one is halved again and again


def count_before(sorted_values: Tensor, values: Tensor, right: bool, int32: bool) -> Tensor:
    """How many of a line come before each value; lines are those of `values`, or there is one for all."""
    dtype = torch.int32 if int32 else torch.int64
    size = sorted_values.shape[-1]
    is_before = torch.le if right else torch.lt
    if size <= SHORT_LINE or values.dim() == 0:
        lines = sorted_values.unsqueeze(-2) if sorted_values.dim() > 1 else sorted_values
        return is_before(lines, values.unsqueeze(-1)).sum(-1, dtype=dtype)
    lines = sorted_values.expand([*values.shape[:-1], size])
    count = torch.zeros(values.shape, dtype=torch.int64, device=values.device)
    while size > 1:  # so many are left, from the one of this number on
        half = size // 2
        count = torch.where(is_before(lines.gather(-1, count + (half - 1)), values), count + half, count)
        size -= half
    return (count + is_before(lines.gather(-1, count), values)).to(dtype)


def searchsorted(
    sorted_values: Tensor, values: Tensor, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    if sorter is not None:
        sorted_values = sorted_values.gather(-1, sorter)
    return count_before(sorted_values, values, right or side == "right", out_int32)


def _bucketize(values: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    return count_before(boundaries, values, right, out_int32)


def _mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent value, of several the smallest, and the last place where it stands."""
    if x.dim() == 0 or x.shape[dim] > LONGEST_LINE:
        return NotImplemented
    line = x.movedim(dim, -1)
    count = (line.unsqueeze(-1) == line.unsqueeze(-2)).to(torch.int64).sum(-1)
    most = count == count.amax(-1, keepdim=True)
    largest = math.inf if x.is_floating_point() else torch.iinfo(x.dtype).max
    value = torch.where(most, line, largest).amin(-1, keepdim=True)
    place = torch.where(line == value, torch.arange(x.shape[dim], device=x.device), -1).amax(-1, keepdim=True)
    value, place = value.movedim(-1, dim), place.movedim(-1, dim)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    flat = x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def _index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    dim %= x.dim()
    places = index.view(*[-1 if d == dim else 1 for d in range(x.dim())]).expand(source.shape)
    return x.scatter_reduce(dim, places, source, reduce, include_self=include_self)


def _scatter_reduced(x: Tensor, dim: int, index: Tensor, source: Tensor | float, *, reduce: str) -> Tensor:
    """`scatter` with `reduce`, whose words are other ones than those of `scatter_reduce`."""
    if not isinstance(source, Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype, device=x.device)
    return x.scatter_reduce(dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])


def _as_strided(x: Tensor, size: list[int], stride: list[int], storage_offset: int | None = None) -> Tensor:
    """By indices, which reach the same elements where x is all of its memory, in order."""
    held = x.numel() * x.element_size()
    if not x.is_contiguous() or x.storage_offset() or x.inner.untyped_storage().nbytes() != held:
        return NotImplemented
    place = torch.zeros((), dtype=torch.int64, device=x.device) + (storage_offset or 0)
    for dim, (count, step) in enumerate(zip(size, stride)):
        along = torch.arange(count, device=x.device) * step
        place = place + along.view(*[-1 if d == dim else 1 for d in range(len(size))])
    return x.reshape(-1)[place.expand(size)]


PARTS: dict[Any, Callable[..., Any]] = {
    aten.mode.default: _mode,
    aten.put.default: _put,
    aten.as_strided.default: _as_strided,
    aten.index_reduce.default: _index_reduce,
    aten.scatter.reduce: _scatter_reduced,
    aten.scatter.value_reduce: _scatter_reduced,
    aten.index_add.default: _index_add,
    aten.index_copy.default: _index_copy,
    aten.index_fill.int_Scalar: _index_fill,
    aten.index_fill.int_Tensor: _index_fill,
    aten.index_put.default: _index_put,
    aten._unsafe_index_put.default: _index_put,
    aten.masked_scatter.default: _masked_scatter,
    aten.max_unpool2d.default: _max_unpool,
    aten.max_unpool3d.default: _max_unpool,
    aten.take.default: _take,
    aten.unfold.default: _unfold,
    aten.diagonal.default: _diagonal,
    aten.diagonal_scatter.default: _diagonal_scatter,
    aten.tril_indices.default: _triangle_indices(lower=True),
    aten.triu_indices.default: _triangle_indices(lower=False),
    aten._embedding_bag.default: _embedding_bag,
    aten._embedding_bag_forward_only.default: _embedding_bag,
    aten.kthvalue.default: _kth,
    aten.median.dim: _median,
    aten.median.default: lambda x: _median(x.reshape(-1), 0)[0],
    aten.nanmedian.dim: _nanmedian,
    aten.nanmedian.default: lambda x: _nanmedian(x.reshape(-1), 0)[0],
    aten.searchsorted.Tensor: searchsorted,
    aten.bucketize.Tensor: _bucketize,
}
