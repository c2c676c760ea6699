"""The tape: every step of a recording in order, with what each one reads and writes.

A tensor id names one value (storage, dtype, sizes, strides, offset, device); a storage id names the bytes behind it.
Steps refer to tensors by `Tid`, so that one walk over their arguments renumbers, compares or evaluates them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch


class Tid(int):
    """A tensor id inside arguments; a class of its own so that it cannot be taken for a number."""

    __slots__ = ()


@dataclass(slots=True)
class TensorInfo:
    """What a Plan says of one tensor id."""

    storage: int
    dtype: torch.dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    device: str  # "cpu" or "cuda"


@dataclass(slots=True)
class Step:
    """One ATen call (`function` is set), constant (`data` is set) or launch (`variants` is set)."""

    outs: list[int]  # tensor ids in schema order, -1 for an undefined result
    uses: list[int]  # tensor ids it is given
    reads: set[int] = field(default_factory=set)  # storages
    writes: set[int] = field(default_factory=set)  # storages
    line: int = 0
    function: torch._ops.OpOverload | None = None
    args: tuple = ()  # with Tid for tensors
    kwargs: dict[str, Any] = field(default_factory=dict)
    data: bytes | None = None
    variants: list[dict[str, Any]] | None = None  # as in docs/formats/plan.md, with Tid for tensors

    @property
    def random(self) -> bool:
        return self.function is not None and torch.Tag.nondeterministic_seeded in self.function.tags


DTYPE_NAMES = {
    getattr(torch, name): name
    for name in (
        "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 "
        "float8_e4m3fn float8_e5m2 float16 bfloat16 float32 float64 complex64 complex128"
    ).split()
}


def map_tids(value: Any, function: Callable[[int], Any]) -> Any:
    """`value` with every `Tid` replaced; lists, tuples and maps are copied."""
    kind = type(value)
    if kind is Tid:
        return function(value)
    if kind is dict:
        return {key: map_tids(item, function) for key, item in value.items()}
    if kind is list or kind is tuple:
        return kind([map_tids(item, function) for item in value])
    return value


class Tape:
    """All tensors, storages and steps of one recording. Storages are kept alive, so that an id is never used twice."""

    def __init__(self) -> None:
        self.tensors: list[TensorInfo] = []
        self.storages: list[torch.UntypedStorage] = []
        self.steps: list[Step] = []
        self.given: set[int] = set()  # storages whose values a caller supplies or may replace: inputs, state
        self._storage_ids: dict[int, int] = {}
        self._first_readable: int | None = None  # of the steps whose draws may be read

    def add_tensor(self, inner: torch.Tensor, device: str) -> int:
        """A new tensor id for a meta tensor."""
        raw = inner.untyped_storage()
        storage = self._storage_ids.get(raw._cdata)
        if storage is None:
            storage = self._storage_ids[raw._cdata] = len(self.storages)
            self.storages.append(raw)
        self.tensors.append(
            TensorInfo(storage, inner.dtype, tuple(inner.shape), inner.stride(), inner.storage_offset(), device)
        )
        return len(self.tensors) - 1

    def storages_of(self, tids: Iterable[int]) -> set[int]:
        return {self.tensors[t].storage for t in tids if t >= 0}

    @staticmethod
    def slice(
        steps: list[Step], tids: set[int], storages: set[int], skip: Callable[[Step], bool] = lambda _: False
    ) -> list[Step]:
        """The steps, in order, that make these tensor ids and the contents of these storages.

        A view needs the tensor it was taken from, not the bytes at that time; who reads through it asks for those.
        `skip` leaves steps out that only change contents.
        """
        tids, storages, kept = set(tids), set(storages), []
        for step in reversed(steps):
            makes = any(out in tids and out not in step.uses for out in step.outs)
            if not makes and (skip(step) or not step.writes & storages):
                continue
            kept.append(step)
            tids.update(step.uses)
            if step.writes:
                storages |= step.reads | step.writes
        kept.reverse()
        return kept

    def evaluate(self, tid: int, max_bytes: int = 16 << 20, may_draw: bool = False) -> torch.Tensor | None:
        """The value of a tensor that depends on nothing but the program's text; None when it depends on more.

        With `may_draw` it may depend on draws that may be read (`readable_draws`).
        """
        needed = self.slice(self.steps, {tid}, {self.tensors[tid].storage})
        made = self.storages_of(out for step in needed for out in step.outs)
        used = self.storages_of([tid] + [t for step in needed for t in step.uses])
        if used - made or used & self.given or sum(self.storages[s].nbytes() for s in used) > max_bytes:
            return None
        if any(step.variants is not None or step.random and not (may_draw and self._readable(step)) for step in needed):
            return None
        values: dict[int, torch.Tensor] = {}
        for step in needed:
            self._compute(step, values)
            if step.random:
                self._keep(step, values[step.outs[0]])
        return values[tid]

    @contextlib.contextmanager
    def readable_draws(self) -> Iterator[None]:
        """What is drawn meanwhile may be read. It is drawn once then: the numbers are a constant from there on."""
        self._first_readable = len(self.steps)
        yield
        self._first_readable = None

    def _readable(self, step: Step) -> bool:
        first = self._first_readable
        if first is None or len(step.outs) != 1 or step.outs[0] in step.uses:
            return False
        info = self.tensors[step.outs[0]]
        in_order = torch.empty(info.sizes, device="meta").stride() == info.strides
        return in_order and any(other is step for other in self.steps[first:])

    @property
    def draws_are_readable(self) -> bool:
        return self._first_readable is not None

    def _keep(self, step: Step, drawn: torch.Tensor) -> None:
        step.data = bytes_of(drawn)
        step.function, step.args, step.kwargs, step.uses, step.reads = None, (), {}, [], set()

    def _compute(self, step: Step, values: dict[int, torch.Tensor]) -> None:
        if step.data is not None:
            info = self.tensors[step.outs[0]]
            values[step.outs[0]] = constant_value(step.data, info.dtype, info.sizes)
            return
        args, kwargs = map_tids((step.args, step.kwargs), values.__getitem__)
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        if step.random:
            torch.default_generator.manual_seed(step.outs[0])  # the same in every recording
        result = step.function(*args, **kwargs)
        if "empty" in step.function.name():
            result.zero_()  # a program cannot rely on it; the same each time
        for out, value in zip(step.outs, flatten_results(result)):
            if out >= 0:
                values[out] = value


def bytes_of(value: torch.Tensor) -> bytes:
    """Of its elements, in order."""
    if value.numel() == 0:
        return b""
    return value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def constant_value(data: bytes, dtype: torch.dtype, sizes: tuple[int, ...]) -> torch.Tensor:
    """A tensor with these bytes, in memory of its own."""
    flat = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
    return flat.view(sizes)


def flatten_results(result: Any) -> list[Any]:
    """Results of an ATen call in schema order, lists flattened; numbers and None stay."""
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in flatten_results(item)]
    return [result]
