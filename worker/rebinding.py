"""Buffers that each call of a reference gives another tensor (`self.ema = 0.9 * self.ema + …`): recorded as if the call
had copied it into the buffer, which is what state is to everybody who reads a Plan."""

from __future__ import annotations

from typing import Any

import torch

from tape import Step, Tape, Tid, map_tids
from tensors import RecordingTensor

_COPY = torch.ops.aten.copy_.default


def as_updates(tape: Tape, state: list[tuple[str, RecordingTensor, str]], calls: list[Any]) -> list[str]:
    """Changes the calls; gives the names of state that the steady call leaves as another tensor, but in no such way."""
    others: list[str] = []
    for name, tensor, _ in state:
        before = [tensor.tid, *(call.left.get(name, tensor.tid) for call in calls)]
        if before[1] == before[2]:  # at most once, in the first call
            continue
        if _alike(tape, before) and all(_apart(tape, call, old) for call, old in zip(calls[1:], before[1:])):
            for call, old, new in zip(calls, before, before[1:]):
                _update(tape, call, tensor.tid, old, new)
        else:
            others.append(f"self.{name}")
    return others


def _alike(tape: Tape, tids: list[int]) -> bool:
    """Each call leaves another tensor, of one kind."""
    forms = {(i.dtype, i.sizes, i.device) for i in map(tape.tensors.__getitem__, tids)}
    return len(forms) == 1 and all(one != other for one, other in zip(tids, tids[1:]))


def _apart(tape: Tape, call: Any, old: int) -> bool:
    """The call knows the tensor that an earlier one left by its one id, and does not return it."""
    storage = tape.tensors[old].storage
    used = {tid for step in call.steps for tid in (*step.uses, *step.outs) if tid >= 0 and tape.tensors[tid].storage == storage}
    returned = {tape.tensors[o.tid].storage for o in call.outputs if isinstance(o, RecordingTensor)}
    return used <= {old} and storage not in returned


def _update(tape: Tape, call: Any, state: int, old: int, new: int) -> None:
    names = {old: state}
    storages = {tape.tensors[old].storage: tape.tensors[state].storage}
    for step in call.steps:
        step.uses = [names.get(tid, tid) for tid in step.uses]
        step.outs = [names.get(tid, tid) for tid in step.outs]
        step.reads = {storages.get(storage, storage) for storage in step.reads}
        step.writes = {storages.get(storage, storage) for storage in step.writes}
        body = (step.args, step.kwargs, step.variants)
        step.args, step.kwargs, step.variants = map_tids(body, lambda tid: Tid(names.get(tid, tid)))
    source, target = tape.tensors[new].storage, tape.tensors[state].storage
    call.steps.append(Step([state], [state, new], {source}, {target}, 0, _COPY, (Tid(state), Tid(new))))
