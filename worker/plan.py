"""From a tape to a Plan (docs/formats/plan.md): phases, steadiness, the slice that moves to set-up, numbering."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from arguments import is_object, own_attributes, rendered
from guards import Rejected
from kernels import SourceFile
from tape import DTYPE_NAMES, Step, Tape, Tid, map_tids
from tensors import RecordingTensor

RUN = 1  # which of the recorded calls becomes `run`: the first steady one


@dataclass
class Call:
    """One recorded call of the program."""

    inputs: list[Any]  # as given to the program
    mark: int = 0  # tensor ids from here on were made for this call or by it
    steps: list[Step] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    structure: str = ""
    packed: list[Any] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)  # the state's tensor ids after it


@dataclass
class Phases:
    """Everything that was recorded, in order."""

    imported: list[Step] = field(default_factory=list)  # while the file's top level ran
    generate: list[Step] = field(default_factory=list)
    setup: list[Step] = field(default_factory=list)
    init_inputs: list[Any] = field(default_factory=list)
    state: list[tuple[str, RecordingTensor, str]] = field(default_factory=list)
    unsaved: list[tuple[str, RecordingTensor, str]] = field(default_factory=list)  # buffers that the state dict lacks
    calls: list[Call] = field(default_factory=list)  # three
    training: bool = False
    changed: list[str] = field(default_factory=list)  # what a steady call of a reference changes beside the state


class _Comparable:
    """The steps of one call in a form in which equal calls are equal.

    What the call made or was given is named by its place in the call, what an earlier call left behind by the order of
    its use, and what is older by its id. Lines do not count.
    """

    def __init__(self, tape: Tape, call: Call, first: Call) -> None:
        self.tape = tape
        self.older = first.mark
        self.names: dict[Any, Any] = {}
        given = [t.tid for t in tensor_leaves(call.inputs)]  # some are older than the call; it may write to all
        made = [out for step in call.steps for out in step.outs if out >= call.mark and out not in given]
        for place, tid in enumerate(given + made):
            self.names.setdefault(tid, ("made", place))
            self.names.setdefault(("storage", tape.tensors[tid].storage), ("made", place))

    def _name(self, key: Any, old: bool) -> Any:
        return self.names.setdefault(key, key if old else ("carried", len(self.names)))

    def tensor(self, tid: int) -> Any:
        info = self.tape.tensors[tid]
        meta = (info.dtype, info.sizes, info.strides, info.offset, info.device)
        return self._name(tid, tid < self.older), self._name(("storage", info.storage), tid < self.older), meta

    def call(self, call: Call) -> tuple:
        steps = [self.step(step) for step in call.steps]
        outputs = [self.tensor(o.tid) if isinstance(o, RecordingTensor) else o for o in call.outputs]
        return steps, outputs, call.structure

    def step(self, step: Step) -> tuple:
        outs = [self.tensor(out) if out >= 0 else None for out in step.outs]
        body = map_tids((step.args, step.kwargs, step.variants), self.tensor)
        return step.function, step.data, body, outs


def _with_texts_of_nans(call: tuple) -> tuple:
    steps, outputs, structure = call
    return [(what, data, _comparable_numbers(body), outs) for what, data, body, outs in steps], outputs, structure


def _comparable_numbers(value: Any) -> Any:
    """NaN differs from itself; its text does not."""
    if isinstance(value, float) and value != value:
        return "nan"
    if isinstance(value, (list, tuple)):
        return [_comparable_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable_numbers(item) for key, item in value.items()}
    return value


def tensor_leaves(value: Any) -> list[RecordingTensor]:
    if isinstance(value, RecordingTensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in tensor_leaves(item)]
    if isinstance(value, dict):
        return tensor_leaves(list(value.values()))
    return tensor_leaves(list(own_attributes(value).values())) if is_object(value) else []


def _check_steady(tape: Tape, calls: list[Call]) -> None:
    """Rejects a program whose third call differs from its second."""
    first, second, third = calls
    a = _Comparable(tape, second, first).call(second)
    b = _Comparable(tape, third, first).call(third)
    if a == b or (a := _with_texts_of_nans(a)) == (b := _with_texts_of_nans(b)):
        return
    place = next((i for i, (x, y) in enumerate(zip(a[0], b[0])) if x != y), min(len(a[0]), len(b[0])))
    step = third.steps[place] if place < len(third.steps) else None
    breach = Rejected(
        "unsteady",
        "the third call of forward does something else than the second; every call after the first must do the same "
        "work"
        + (f" (first difference at step {place} of the call)" if a[0] != b[0] else " (it returns something else)"),
    )
    breach.line = step.line if step else 0
    raise breach


def _from_first_call(tape: Tape, first: Call, run: Call) -> list[Step]:
    """What only the first call did and the steady call uses.

    A state update that the steady call repeats (running statistics, a workspace that is written anew) stays out.
    """
    given = {t.tid for t in tensor_leaves(run.inputs)}
    used = {tid for step in run.steps for tid in step.uses} | {t.tid for t in tensor_leaves(run.outputs)}
    needed = {tid for tid in used if tid < run.mark} - given
    needed_storages = tape.storages_of(needed) - tape.storages_of(given)

    def update(step: Step) -> tuple:
        lasting = sorted(step.writes & needed_storages)
        return step.function, lasting, step.line, _kernel_names(step)

    repeated = [update(step) for step in run.steps if step.writes & needed_storages]
    return tape.slice(
        first.steps, needed, needed_storages, lambda s: bool(s.writes & needed_storages) and update(s) in repeated
    )


def _kernel_names(step: Step) -> list[str]:
    return [variant["kernel"].name for variant in step.variants or ()]


class PlanWriter:
    """Numbers what the kept steps use and renders it."""

    def __init__(self, tape: Tape, file: SourceFile, module: ModuleType | None) -> None:
        self.tape = tape
        self.module = module
        self.file = file
        self.tids: dict[int, int] = {}
        self.storages: dict[int, int] = {}
        self.kernels: dict[Any, int] = {}
        self.rendered_kernels: list[dict[str, Any]] = []

    def plan(self, role: str, phases: Phases) -> dict[str, Any]:
        """The Plan. Raises Rejected with rule `unsteady`, or for an argument that a Plan cannot hold."""
        first, run = phases.calls[0], phases.calls[RUN]
        _check_steady(self.tape, phases.calls)
        packed = _from_first_call(self.tape, first, run)
        lasting = {tensor.tid for _, tensor, _ in phases.state} | {t.tid for t in tensor_leaves(run.outputs)}
        setup = self._imported(phases.imported, phases.setup + packed + run.steps, lasting) + phases.setup + packed
        generate = self._imported(phases.imported, phases.generate) + phases.generate  # a candidate has neither
        warmup = (
            first.inputs if {t.tid for t in tensor_leaves(first.inputs)} & {u for s in packed for u in s.uses} else []
        )
        body = {
            "generate": [self.step(s) for s in generate],
            "init_inputs": self.value(phases.init_inputs, 0),
            "setup": [self.step(s) for s in setup],
            "inputs": self.value(run.inputs, 0),
            "warmup_inputs": self.value(warmup, 0),
            "run": [self.step(s) for s in run.steps],
            "state": [[name, self.tid(tensor.tid), kind] for name, tensor, kind in phases.state],
            "outputs": self.value(run.outputs, 0),
        }
        tensors = [self._tensor(tid) for tid in self.tids]  # numbers the storages
        return {
            "version": 1,
            "role": role,
            "storages": [self.tape.storages[s].nbytes() for s in self.storages],
            "tensors": tensors,
            "kernels": self.rendered_kernels,
            **body,
            "structure": run.structure,
            "training": phases.training,
            **self._unsaved(phases),
            **({"packed": run.packed} if run.packed else {}),
            **({"changed": phases.changed} if phases.changed else {}),
        }

    def _unsaved(self, phases: Phases) -> dict[str, Any]:
        """For who writes programs: what the module has names for beside its state."""
        made = [[name, self.tids[t.tid], kind] for name, t, kind in phases.unsaved if t.tid in self.tids]
        return {"unsaved": made} if made else {}

    def _imported(self, imported: list[Step], users: list[Step], lasting: set[int] = frozenset()) -> list[Step]:
        """The steps of the file's top level that later steps, or what lasts, use."""
        used = {tid for step in users for tid in step.uses} | lasting
        return self.tape.slice(imported, used, self.tape.storages_of(used)) if imported else []

    def tid(self, tid: int) -> int:
        if tid < 0:
            return -1
        return self.tids.setdefault(tid, len(self.tids))

    def _tensor(self, tid: int) -> list[Any]:
        info = self.tape.tensors[tid]
        storage = self.storages.setdefault(info.storage, len(self.storages))
        return [storage, self.dtype(info.dtype, 0), list(info.sizes), list(info.strides), info.offset, info.device]

    def dtype(self, dtype: torch.dtype, line: int) -> str:
        name = DTYPE_NAMES.get(dtype)
        if name is None:
            _cannot("dtype", f"tensors of {dtype} are not supported", line)
        return name

    def value(self, value: Any, line: int) -> Any:
        """An argument as in docs/formats/plan.md."""
        if isinstance(value, (RecordingTensor, Tid)):
            return {"t": self.tid(value if isinstance(value, Tid) else value.tid)}
        if value is None or isinstance(value, (bool, float, str)):
            return value
        if isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 63:
                _cannot("argument", f"the number {value} does not fit in 64 bits", line)
            return int(value)
        if isinstance(value, (list, tuple)):
            return [self.value(item, line) for item in value]
        if isinstance(value, torch.dtype):
            return {"dtype": self.dtype(value, line)}
        if isinstance(value, torch.device):
            return {"device": value.type}
        if isinstance(value, torch.layout):
            return {"layout": str(value).removeprefix("torch.")}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value).removeprefix("torch.")}
        if isinstance(value, dict) or is_object(value):
            return rendered(value, self.module, lambda item: self.value(item, line))
        _cannot("argument", f"a value of type {type(value).__name__} cannot be part of a Plan", line)

    def step(self, step: Step) -> dict[str, Any]:
        if step.data is not None:
            return {"op": "constant", "out": self.tid(step.outs[0]), "data": step.data, "line": step.line}
        if step.variants is not None:
            return {"op": "launch", "variants": [self._variant(v) for v in step.variants], "line": step.line}
        return {
            "op": step.function.name(),
            "args": self.value(step.args, step.line),
            "kwargs": {name: self.value(value, step.line) for name, value in step.kwargs.items()},
            "outs": [self.tid(out) for out in step.outs],
            "line": step.line,
        }

    def _variant(self, variant: dict[str, Any]) -> dict[str, Any]:
        return {**map_tids(variant, self.tid), "kernel": self._kernel(variant["kernel"])}

    def _kernel(self, kernel: Any) -> int:
        if kernel.key not in self.kernels:
            self.kernels[kernel.key] = len(self.kernels)
            source, support = self.file.kernel(kernel.function, kernel.helpers)
            self.rendered_kernels.append(
                {
                    "name": kernel.name,
                    "ttir": kernel.ttir,
                    "source": source,
                    "support": support,
                    "options": kernel.options,
                }
            )
        return self.kernels[kernel.key]


def _cannot(rule: str, message: str, line: int) -> None:
    breach = Rejected(rule, message)
    breach.line = line
    raise breach
