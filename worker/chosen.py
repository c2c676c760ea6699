"""What a mask selects, `x[mask]`, in references: how many rows that is hangs on data, and a Plan's sizes do not.

All rows are kept, with the mask beside them. What goes row by row goes on with all of them; sums, means and extrema over
rows leave out those that are not chosen; `y[mask] = …` writes where the mask says so. Everything else, and whoever asks
how many there are, is refused as before. So is a candidate: what it runs is not what would be recorded.
"""

from __future__ import annotations

import functools
import sys
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
_FILLING = {"fill_", "zero_", "copy_"}
# What the rows that are not chosen become for a reduction over all, by whose own rule they change nothing then.
_FILLS = {"sum": 0, "mean": 0, "any": False, "all": True, "amax": -float("inf"), "max": -float("inf"),
          "amin": float("inf"), "min": float("inf"), "prod": 1}  # fmt: skip
_LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"}
_LABELLED = {"cross_entropy_loss", "nll_loss_nd", "nll_loss"}


@functools.cache
def kind() -> type:
    """The class of such tensors, made when it is first asked for: its base imports this module."""
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
            asks = frame.f_code.co_filename == torch.nn.functional.__file__ and frame.f_code.co_name in _LOSSES  # they compare sizes
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
    return _Call(recording, function, args, kwargs).run()


class _Call:
    def __init__(self, recording: Recording, function: Any, args: tuple, kwargs: dict) -> None:
        self.recording, self.function, self.args = recording, function, args
        self.name = function.overloadpacket.__name__
        self.given = {argument.name: value for argument, value in zip(function._schema.arguments, args)} | kwargs
        self.found = leaves((args, kwargs), kind())
        self.mask, self.origin = self.found[0].mask, self.found[0].origin
        self.rank = max(one.inner.dim() for one in self.found)
        if any(one.origin != self.origin for one in self.found) or "out" in kwargs:
            _refuse(f"{self.name} of what two masks select")

    def run(self) -> Any:
        name, given, found = self.name, self.given, self.found
        if name in ("index_put", "index_put_", "_index_put_impl_"):
            return self._put()
        if name == "broadcast_tensors" and all(isinstance(one, kind()) for one in self.args[0]):
            if len({one.inner.shape for one in found}) == 1:
                return list(self.args[0])
        if name == "expand" and list(given["size"]) == list(found[0].inner.shape):
            return self.args[0]
        if torch.Tag.pointwise in self.function.tags or name in _FILLING:
            return self._pointwise()
        if name in _ROW_BY_ROW or _is_row_by_row(name, given, found):
            return self._rows(self._call())
        dims = _dims(given, self.rank, name)
        if name in _ALONG and dims is not None and 0 not in dims:
            return self._rows(self._call())
        if name in _FILLS and "other" not in given and (dims is None or 0 in dims):
            return self._reduced(dims)
        if name in _LOSSES and any(argument.name == "reduction" for argument in self.function._schema.arguments):
            return self._loss()
        if name in _LABELLED and isinstance(given["target"], kind()) and not given["target"].inner.is_floating_point():
            return self._labelled()
        self._refuse()

    def _call(self, changes: dict[str, Any] | None = None) -> Any:
        """With all rows, as tensors like others."""
        values = {key: _plain(value) for key, value in (self.given | (changes or {})).items()}
        arguments = self.function._schema.arguments
        positional = [argument for argument in arguments if not argument.kwarg_only]
        count = max((i + 1 for i, argument in enumerate(positional) if argument.name in values), default=0)
        ordered = [values.get(one.name, one.default_value if one.has_default_value() else None) for one in positional[:count]]
        named = {one.name: values[one.name] for one in arguments if one.kwarg_only and one.name in values}
        with self.recording:
            return self.function(*ordered, **named)

    def _rows(self, result: Any) -> Any:
        return map_leaves(lambda tensor: _of(tensor, self.mask, self.origin), result, torch.Tensor)

    def _pointwise(self) -> Any:
        """Where what is not chosen is the same for all rows."""
        others = [t for t in leaves(self.given, torch.Tensor) if not isinstance(t, kind())]
        if any(one.inner.dim() != self.rank for one in self.found) or any(
            t.dim() >= self.rank and t.shape[0] != 1 for t in others
        ):
            self._refuse()
        if not self.name.endswith("_"):
            return self._rows(self._call())
        if not isinstance(self.args[0], kind()):
            self._refuse()
        self._call()  # the rows are a copy, in which views of them see what is written
        return self.args[0]

    def _reduced(self, dims: list[int] | None) -> Any:
        x, name = _plain(self.given["self"]), self.name
        extremum = isinstance(_FILLS[name], float)
        if (extremum and not x.is_floating_point()) or (dims is not None and name in ("max", "min")):
            self._refuse()
        with self.recording:
            inside = self.mask.reshape(-1, *[1] * (x.dim() - 1))
            filled = torch.where(inside, x, torch.full_like(x, _FILLS[name]))
        if name != "mean":
            return self._call({"self": filled})
        with self.recording:
            count = self.mask.sum()
            for d in range(1, x.dim()):
                count = count * (x.shape[d] if dims is None or d in dims else 1)
            dtype = self.given.get("dtype") or x.dtype
            keeps = self.given.get("keepdim", False)
            total = filled.sum(dtype=dtype) if dims is None else filled.sum(dims, keeps, dtype=dtype)
            return total / count.to(dtype)

    def _loss(self) -> Any:
        each, how = self._rows(self._call({"reduction": 0})), self.given.get("reduction", 1)
        with self.recording:
            return each if how == 0 else each.mean() if how == 1 else each.sum()

    def _labelled(self) -> Any:
        """Of labels that are not chosen nothing is asked: they are ignored."""
        if self.given.get("reduction", 1) == 0:
            return self._rows(self._call())
        with self.recording:
            target = torch.where(self.mask, _plain(self.given["target"]), self.given.get("ignore_index", -100))
        return self._call({"target": target})

    def _put(self) -> Any:
        x, indices, values = self.given["self"], self.given["indices"], self.given["values"]
        same = len(indices) == 1 and isinstance(indices[0], torch.Tensor) and getattr(indices[0], "tid", None) == self.origin
        if isinstance(x, kind()) or not isinstance(values, kind()) or not same or self.given.get("accumulate", False):
            _refuse("writing what a mask selects by another one")
        with self.recording:
            of_mask = indices[0].shape
            where = self.mask.reshape(*of_mask, *[1] * (x.dim() - len(of_mask)))
            rows = _plain(values).expand(self.mask.shape[0], *x.shape[len(of_mask) :]).reshape(x.shape).to(x.dtype)
            new = torch.where(where, rows, x)
            return x.copy_(new) if self.name != "index_put" else new

    def _refuse(self) -> None:
        _refuse(f"{self.name} of what a mask selects")


def _of(rows: torch.Tensor, mask: Any, origin: int) -> torch.Tensor:
    chosen = kind()(rows.inner, rows.tid, rows.device.type)
    chosen.mask, chosen.origin = mask, origin
    return chosen


def _plain(value: Any) -> Any:
    from tensors import RecordingTensor

    return map_leaves(lambda one: RecordingTensor(one.inner, one.tid, one.device.type), value, kind())


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


def _refuse(what: str) -> None:
    from said_sizes import WITHOUT_SELECTION

    reject("dynamic_shape", f"{what} has a size that depends on values; {WITHOUT_SELECTION}")
