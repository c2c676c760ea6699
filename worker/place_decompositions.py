"""Parts of operators that count places: which element is the n-th of its kind, which segment or frame it lies in."""

from __future__ import annotations

import math
from typing import Any

import torch

from index_decompositions import count_before, searchsorted

Tensor = torch.Tensor
aten = torch.ops.aten


def _nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The n-th element that is not zero stands where their running count becomes n."""
    if x.dim() == 0 or x.numel() == 0 or size == 0:
        return NotImplemented
    count = (x != 0).reshape(-1).to(torch.int64).cumsum(0)
    place = count_before(count, torch.arange(size, device=x.device), right=True, int32=False)
    index, stride = [], x.numel()
    for length in x.shape:
        stride //= length
        index.append(torch.div(place, stride, rounding_mode="floor") % length)
    return torch.where((place < x.numel()).unsqueeze(1), torch.stack(index, 1), fill_value)


_EMPTY_SEGMENT = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def _segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Tensor:  # fmt: skip
    """Every segment looks at every element of its line."""
    if axis != 0 or initial is not None or indices is not None or (lengths is None) == (offsets is None):
        return NotImplemented
    if lengths is not None:
        end = lengths.cumsum(0)
        start = end - lengths
    else:
        start, end = offsets[:-1], offsets[1:]
    number = torch.arange(data.shape[0], device=data.device)
    inside = (number >= start.unsqueeze(1)) & (number < end.unsqueeze(1))
    inside = inside.reshape([*inside.shape, *[1] * (data.dim() - 1)])
    mean = reduce == "mean"
    held = torch.where(inside, data, _EMPTY_SEGMENT["sum" if mean else reduce])
    if reduce == "prod":
        return held.prod(1)
    if not mean and reduce != "sum":
        return held.amax(1) if reduce == "max" else held.amin(1)
    return held.sum(1) / (end - start).reshape([-1, *[1] * (data.dim() - 1)]) if mean else held.sum(1)


def _unfold_backward(frames: Tensor, sizes: list[int], dim: int, size: int, step: int) -> Tensor:
    """Frames laid over each other and added, as `istft` does it: each element reads those that it lies in."""
    dim %= len(sizes)
    lines = frames.movedim(dim, -2)  # […, frame, place in it]
    count = lines.shape[-2]
    at = torch.arange(sizes[dim], device=frames.device)
    last = torch.div(at, step, rounding_mode="floor")
    flat, total = lines.flatten(-2), None
    for back in range(-(-size // step)):
        frame = last - back
        place = at - frame * step
        holds = (frame >= 0) & (frame < count) & (place < size)
        part = torch.where(holds, flat[..., torch.where(holds, frame * size + place, 0)], 0)
        total = part if total is None else total + part
    return total.movedim(-1, dim)


def _embedding_renorm(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Rows that an index names are shortened to the norm that is allowed."""
    rows = torch.arange(weight.shape[0], device=weight.device)
    named = (rows.unsqueeze(1) == indices.reshape(-1)).any(1)
    norm = torch.linalg.vector_norm(weight, norm_type, 1)
    factor = torch.where(named & (norm > max_norm), max_norm / (norm + 1e-7), 1.0)
    return weight.copy_(weight * factor.unsqueeze(1))


def _search_number(sorted_values: Tensor, number: float, **how: Any) -> Tensor:
    value = torch.full((), number, dtype=sorted_values.dtype, device=sorted_values.device)
    return searchsorted(sorted_values, value, **how)


def _fractional_max_pool(x: Tensor, kernel: list[int], out: list[int], samples: Tensor) -> tuple[Tensor, Tensor]:
    """Windows begin at steps of a fraction, from a drawn one on; the last one ends where the line does."""
    count = len(kernel)
    planes = x.shape[:-count]
    samples = samples.reshape(*planes, count)
    if count == 2:
        samples = samples.flip(-1)  # of columns, then of rows
    place: Any = 0
    for dim, (size, width, length) in enumerate(zip(x.shape[-count:], kernel, out)):
        sample, number = samples[..., dim : dim + 1], torch.arange(length, device=x.device)
        step = (size - width) / max(length - 1, 1)
        start = ((number + sample) * step).to(torch.int64) - (sample * step).to(torch.int64)
        start = torch.where(number == length - 1, size - width, start)
        of_dim = start.unsqueeze(-1) + torch.arange(width, device=x.device)
        windows, elements = ([n if d == dim else 1 for d in range(count)] for n in (length, width))
        place = place * size + of_dim.reshape(*planes, *windows, *elements)
    place = place.flatten(-count)
    largest, which = x.flatten(-count).gather(-1, place.flatten(-count - 1)).reshape(place.shape).max(-1)
    return largest, place.gather(-1, which.unsqueeze(-1)).squeeze(-1)


PARTS = {
    aten.fractional_max_pool2d.default: _fractional_max_pool,
    aten.fractional_max_pool3d.default: _fractional_max_pool,
    aten.nonzero_static.default: _nonzero_static,
    aten.segment_reduce.default: _segment_reduce,
    aten.unfold_backward.default: _unfold_backward,
    aten.embedding_renorm_.default: _embedding_renorm,
    aten.searchsorted.Scalar: _search_number,
}
