"""Operators whose results have sizes that depend on values for PyTorch, where the program says the size."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import torch

import chosen
from guards import reject
from index_decompositions import value_known

if TYPE_CHECKING:
    from tensors import Recording


# Of a mask, what says the same with sizes that are known.
WITHOUT_SELECTION = (
    "y[mask] = x[mask] is torch.where(mask, x, y), y[mask] *= 2 is torch.where(mask, y * 2, y), "
    "x[mask].mean() is torch.where(mask, x, 0).sum() / mask.sum()"
)


def combinations(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """By places that the sizes decide: PyTorch selects them by a mask, as if their number hung on values."""
    x, r, replacement = (*args, *(2, False)[len(args) - 1 :])
    r, replacement = kwargs.get("r", r), kwargs.get("with_replacement", replacement)
    with recording:
        if x.dim() != 1 or r < 1:
            return function.decompose(*args, **kwargs)
        choose = itertools.combinations_with_replacement if replacement else itertools.combinations
        places = list(choose(range(x.shape[0]), r))
        return x[torch.tensor(places, dtype=torch.int64).reshape(-1, r).to(x.device)]


def repeat_interleave(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """The index that each place comes from: the first one whose repeats end behind it. With repeats for fewer places
    than `output_size` the last ones have an index out of bounds."""
    (repeats,) = args
    size = kwargs.get("output_size")
    if size is None or value_known(repeats) is not None:
        return recording.step(function, args, kwargs)
    with recording:
        places = torch.arange(size, device=repeats.device)
        return torch.searchsorted(repeats.cumsum(0), places, right=True, out_int32=repeats.dtype == torch.int32)


def bincount(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """With `minlength` bins: where PyTorch would make more of them, the replay has an index out of bounds."""
    given = {argument.name: value for argument, value in zip(function._schema.arguments, args)} | kwargs
    x, weights, bins = given["self"], given.get("weights"), given.get("minlength", 0)
    if x.dim() != 1 or x.is_floating_point() or x.dtype == torch.bool:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    known = value_known(x)
    if known is not None and known.numel() > 0:
        bins = max(bins, int(known.max()) + 1)
    if bins == 0 and known is None:
        reject("dynamic_shape", "how many bins bincount makes depends on values; say how many by minlength")
    with recording:
        if weights is None:
            weights = torch.ones_like(x, dtype=torch.int64)
        elif weights.dtype != torch.float32:
            weights = weights.to(torch.float64)
        counts = torch.zeros(bins, dtype=weights.dtype, device=x.device)
        return counts.scatter_add(0, x.to(torch.int64), weights)


def index(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """x[mask] by the places that are true, of a mask that the program's text decides: it may be, where x is not."""
    x, indices = args
    places = _places(recording, x, indices)
    if places is None and chosen.may_choose(recording, indices):
        return chosen.choose(recording, x, indices[0])
    if places is None:
        return recording._known_result(function, args, kwargs, x.device.type, WITHOUT_SELECTION)
    return recording.step(function, (x, places), kwargs)


def index_put(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """Likewise, as what x[mask] gave is written back; by another mask it is a step that has no size to say."""
    x, indices, *rest = args
    places = _places(recording, x, indices)
    return recording.parts_or_step(function, (x, indices if places is None else places, *rest), kwargs)


def masked_select(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """Likewise."""
    x, mask = args
    known = value_known(mask)
    if known is None and not chosen.may_choose(recording, [mask]):
        return recording._known_result(function, args, kwargs, x.device.type, WITHOUT_SELECTION)
    with recording:
        x, mask = torch.broadcast_tensors(x, mask)
    if known is None:
        return chosen.choose(recording, x, mask)
    places = _true_places(recording, value_known(mask), x)
    with recording:
        return torch.ops.aten.index.Tensor(x, places)


def _places(recording: Recording, x: torch.Tensor, indices: list) -> list | None:
    """Indices without masks; None where values decide one."""
    masks = {i: value_known(item) for i, item in enumerate(indices)
             if isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.uint8)}  # fmt: skip
    if any(mask is None for mask in masks.values()):
        return None
    places = []
    for i, item in enumerate(indices):
        at = len(places)
        if i not in masks:
            places.append(item)
            continue
        if item.shape != x.shape[at : at + item.dim()]:
            raise IndexError(f"The shape of the mask {list(item.shape)} at index {at} does not match the shape of the "
                             f"indexed tensor {list(x.shape)} at index {at}")  # fmt: skip
        places += _true_places(recording, masks[i], x)
    return places


def _true_places(recording: Recording, mask: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
    """By dimension of the mask's value."""
    return [recording.constant(column.contiguous(), "cuda" if x.is_cuda else "cpu") for column in mask.nonzero().unbind(1)]
