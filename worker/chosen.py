"""What a mask selects, `x[mask]`, in references: how many rows that is hangs on data, and a Plan's sizes do not.

All rows are kept, with the mask beside them. What goes row by row goes on with all of them; sums, means and extrema over
rows leave out those that are not chosen; `y[mask] = …` writes where the mask says so. Everything else, and whoever asks
how many there are, is refused as before. So is a candidate: what it runs is not what would be recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from guards import reject
from nested import leaves, map_leaves

if TYPE_CHECKING:
    from tensors import Recording, RecordingTensor

aten = torch.ops.aten

# With results for each row, whatever stands in others: as they are, and along dimensions that are not the first.
_ROW_BY_ROW = {"_to_copy", "to", "clone", "contiguous", "detach", "alias", "dropout"}
_ALONG = {
    "softmax", "log_softmax", "_softmax", "_log_softmax", "sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin",
    "logsumexp", "norm", "linalg_vector_norm", "var", "std", "prod", "all", "any", "cumsum", "cumprod", "glu", "gather",
    "unsqueeze", "squeeze", "select", "slice", "topk", "sort", "index_select",
}  # fmt: skip
# What the rows that are not chosen become for a reduction over all, by whose own rule they change nothing then.
_FILLS = {"sum": 0, "mean": 0, "any": False, "all": True, "amax": -float("inf"), "max": -float("inf"),
          "amin": float("inf"), "min": float("inf"), "prod": 1}  # fmt: skip
_LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"}
_LABELLED = {"cross_entropy_loss", "nll_loss_nd", "nll_loss"}
_ONE_SIZE = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
             "binary_cross_entropy_with_logits"}  # of torch.nn.functional: they compare sizes  # fmt: skip

_kind: type | None = None


def kind() -> type:
    """The class of such tensors, made when it is first asked for: its base imports this module."""
    global _kind
    if _kind is None:
        _kind = _make_kind()
    return _kind


def _make_kind() -> type:
    from tensors import RecordingTensor

    class Chosen(RecordingTensor):
        """All rows. `mask`: bool, which of them there are; `origin`: the tensor that the program selected by."""

        mask: RecordingTensor
        origin: int

        @property
        def shape(self) -> torch.Size:
            return self._sizes()

        def size(self, dim: int | None = None) -> Any:
            if dim is None or dim % self.inner.dim() == 0:
                sizes = self._sizes()
                return sizes if dim is None else sizes[dim]
            return self.inner.size(dim)

        def numel(self) -> int:
            return self._sizes().numel()

        nelement = numel

        def __len__(self) -> int:
            return self._sizes()[0]

        def _sizes(self) -> torch.Size:
            frame = sys._getframe(2)
            asks = frame.f_code.co_filename == torch.nn.functional.__file__ and frame.f_code.co_name in _ONE_SIZE
            if not asks:
                _refuse("how many elements a mask selects")
            return self.inner.shape

    return Chosen


def choose(recording: Recording, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """x[mask], of a mask over the first dimensions."""
    if mask.shape != x.shape[: mask.dim()]:
        raise IndexError(f"The shape of the mask {list(mask.shape)} at index 0 does not match the shape of the indexed "
                         f"tensor {list(x.shape)} at index 0")  # fmt: skip
    with recording:
        # Copies: what is written to x afterwards is not in the selection, nor the other way round.
        rows, chosen = x.reshape(-1, *x.shape[mask.dim() :]).clone(), mask.reshape(-1).clone()
    recording.chooses = True
    return _of(rows, chosen, mask.tid)


def may_choose(recording: Recording, indices: list) -> bool:
    """Not in get_inputs(), where what is drawn can be read."""
    (mask, *rest) = indices
    is_call = recording.file == "reference.py" and not recording.tape.draws_are_readable
    return is_call and not rest and isinstance(mask, torch.Tensor) and mask.dtype == torch.bool


def concerns(args: tuple, kwargs: dict) -> bool:
    return bool(leaves((args, kwargs), kind()))


def run(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """An operator on rows that a mask has chosen."""
    found = leaves((args, kwargs), kind())
    mask, origin, rank = found[0].mask, found[0].origin, max(one.inner.dim() for one in found)
    name = function.overloadpacket.__name__
    if any(one.origin != origin for one in found) or "out" in kwargs:
        _refuse(f"{name} of what two masks select")
    given = {argument.name: value for argument, value in zip(function._schema.arguments, args)} | kwargs

    def call(how: Any, changes: dict[str, Any] | None = None) -> Any:
        """With all rows, as tensors like others."""
        values = {key: _plain(value) for key, value in (given | (changes or {})).items()}
        names = [argument.name for argument in how._schema.arguments]
        positional = [argument.name for argument in how._schema.arguments if not argument.kwarg_only]
        count = max((i + 1 for i, key in enumerate(positional) if key in values), default=0)
        defaults = {argument.name: argument.default_value for argument in how._schema.arguments if argument.has_default_value()}
        ordered = tuple(values.get(key, defaults.get(key)) for key in positional[:count])
        with recording:
            return how(*ordered, **{key: values[key] for key in names if key in values and key not in positional})

    def rows(result: Any) -> Any:
        return map_leaves(lambda tensor: _of(tensor, mask, origin), result, torch.Tensor)

    if name in ("index_put", "index_put_", "_index_put_impl_"):
        return _put(recording, function, given, mask, origin)
    if name == "broadcast_tensors" and all(isinstance(one, kind()) for one in args[0]):
        if len({one.inner.shape for one in args[0]}) == 1:
            return list(args[0])
    if name == "expand" and list(given["size"]) == list(found[0].inner.shape):
        return args[0]
    if torch.Tag.pointwise in function.tags and _goes_with_rows(given, found, rank):
        if not name.endswith("_"):
            return rows(call(function))
        if not isinstance(args[0], kind()):
            _refuse(f"{name} of what a mask selects")
        packet = getattr(aten, name[:-1])
        return _assign(recording, args[0], call(getattr(packet, function._overloadname)))
    if name in _ROW_BY_ROW or _is_row_by_row(name, given, found):
        return rows(call(function))
    if name in _ALONG and _dims(given, rank, name) not in ([], None) and 0 not in _dims(given, rank, name):
        return rows(call(function))
    if name in _FILLS and "other" not in given and (0 in (_dims(given, rank, name) or [0])):
        return _reduced(recording, name, given, mask, call, function)
    if name in _LOSSES and "reduction" in {argument.name for argument in function._schema.arguments}:
        each = rows(call(function, {"reduction": 0}))
        how = given.get("reduction", 1)
        with recording:
            return each if how == 0 else each.mean() if how == 1 else each.sum()
    if name in _LABELLED and isinstance(given["target"], kind()) and not given["target"].inner.is_floating_point():
        if given.get("reduction", 1) == 0:
            return rows(call(function))
        with recording:
            target = torch.where(mask, _plain(given["target"]), given.get("ignore_index", -100))
        return call(function, {"target": target})
    _refuse(f"{name} of what a mask selects")


def _of(rows: torch.Tensor, mask: Any, origin: int) -> torch.Tensor:
    chosen = kind()(rows.inner, rows.tid, rows.device.type)
    chosen.mask, chosen.origin = mask, origin
    return chosen


def _plain(value: Any) -> Any:
    from tensors import RecordingTensor

    return map_leaves(lambda one: RecordingTensor(one.inner, one.tid, one.device.type), value, kind())


def _goes_with_rows(given: dict, found: list, rank: int) -> bool:
    """Whether what is not chosen is the same for all rows."""
    others = [t for t in leaves(given, torch.Tensor) if not isinstance(t, kind())]
    return all(one.inner.dim() == rank for one in found) and all(
        t.dim() < rank or t.shape[0] == 1 for t in others)  # fmt: skip


def _is_row_by_row(name: str, given: dict, found: list) -> bool:
    """Layers, of which the rows are the only input."""
    if len(found) != 1:
        return False
    first = next(iter(given.values()))
    if name in ("linear", "mm", "matmul"):
        others = [value for key, value in given.items() if value is not first and isinstance(value, torch.Tensor)]
        return first is found[0] and first.inner.dim() >= 2 and others[0].dim() == 2
    if name in ("layer_norm", "rms_norm"):
        return first is found[0] and first.inner.dim() > len(given["normalized_shape"])
    return name == "embedding" and given["indices"] is found[0]


def _dims(given: dict, rank: int, name: str) -> list[int] | None:
    """Dimensions that are meant; None for all of them."""
    dim = given.get("dim")
    if dim is None:
        return [0] if name in ("gather", "unsqueeze", "squeeze", "select", "slice", "cumsum", "cumprod") else None
    dims = [dim] if isinstance(dim, int) else list(dim)
    return [d % (rank + (name == "unsqueeze")) for d in dims] or None


def _reduced(recording: Recording, name: str, given: dict, mask: Any, call: Callable, function: Any) -> Any:
    x = _plain(given["self"])
    extremum = isinstance(_FILLS[name], float)
    if (extremum and not x.is_floating_point()) or isinstance(given.get("dim"), int) and name in ("max", "min"):
        _refuse(f"{name} of what a mask selects")
    dims = _dims(given, x.dim(), name)
    with recording:
        inside = mask.reshape(-1, *[1] * (x.dim() - 1))
        filled = torch.where(inside, x, torch.full_like(x, _FILLS[name]))
    if name != "mean":
        return call(function, {"self": filled})
    with recording:
        count = mask.sum()
        for d in range(1, x.dim()):
            count = count * (x.shape[d] if dims is None or d in dims else 1)
        dtype = given.get("dtype") or x.dtype
        total = filled.sum(dtype=dtype) if dims is None else filled.sum(dims, given.get("keepdim", False), dtype=dtype)
        return total / count.to(dtype)


def _put(recording: Recording, function: Any, given: dict, mask: Any, origin: int) -> Any:
    x, indices, values = given["self"], given["indices"], given["values"]
    same = len(indices) == 1 and isinstance(indices[0], torch.Tensor) and getattr(indices[0], "tid", None) == origin
    if isinstance(x, kind()) or not isinstance(values, kind()) or not same or given.get("accumulate", False):
        _refuse("writing what a mask selects by another one")
    with recording:
        where = mask.reshape(*indices[0].shape, *[1] * (x.dim() - indices[0].dim()))
        new = torch.where(where, _plain(values).expand(mask.shape[0], *x.shape[indices[0].dim() :]).reshape(x.shape).to(x.dtype), x)
        return x.copy_(new) if function.overloadpacket.__name__ != "index_put" else new


def _assign(recording: Recording, target: Any, new: torch.Tensor) -> Any:
    """An operator in place: what was selected is a copy, which has a new value now."""
    with recording:
        new = new.to(target.inner.dtype)
    target.inner, target.tid = new.inner, new.tid
    return target


def _refuse(what: str) -> None:
    from said_sizes import WITHOUT_SELECTION

    reject("dynamic_shape", f"{what} has a size that depends on values; {WITHOUT_SELECTION}")
