"""Helpers of the recorder's tests: record a piece of source, and replay a Plan's ATen steps on real CPU tensors."""

from __future__ import annotations

import textwrap
from typing import Any

import torch

HEAD = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
"""


def source_of(text: str) -> str:
    return HEAD + textwrap.dedent(text)


def tensor(*sizes: int, dtype: str = "float32", strides: list[int] | None = None) -> dict[str, Any]:
    """A tensor leaf of a request."""
    if strides is None:
        strides = list(torch.empty(sizes, device="meta").stride())
    return {"tensor": [dtype, list(sizes), strides]}


def candidate(
    text: str, inputs: list[Any], init: list[Any] = (), entry: str = "Model", kind: str = "class",
    capability: tuple[int, int] = (9, 0),
) -> dict[str, Any]:  # fmt: skip
    """The reply to a candidate's request."""
    import record

    request = {"role": "candidate", "source": source_of(text), "entry": entry, "kind": kind}
    return record.record({**request, "init_inputs": list(init), "inputs": inputs, "capability": list(capability)})


def reference(text: str, entry: str = "Model", kind: str = "class", split: list[str] = ()) -> dict[str, Any]:
    import record

    request = {"role": "reference", "source": source_of(text), "entry": entry, "kind": kind, "split": list(split)}
    return record.record(request)


def plan_of(reply: dict[str, Any]) -> dict[str, Any]:
    assert reply["ok"], f"{reply['kind']} {reply['rule']}: {reply['message']} (line {reply['line']})\n{reply['trace']}"
    return reply["plan"]


def ops(steps: list[dict[str, Any]]) -> list[str]:
    return [step["op"].removeprefix("aten::") for step in steps]


def line_of(text: str, part: str) -> int:
    """The line of the program that holds `part`."""
    return next(i for i, line in enumerate(source_of(text).splitlines(), 1) if part in line)


class Replay:
    """Executes the ATen steps of a Plan, as an executor would: by operator name, checking every result's meta."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.values: dict[int, torch.Tensor] = {}

    def run(self, phase: str) -> None:
        for step in self.plan[phase]:
            self._step(step)

    def _step(self, step: dict[str, Any]) -> None:
        assert step["op"] != "launch"
        if step["op"] == "constant":
            self._store(step["out"], self._constant(step))
            return
        name, _, overload = step["op"].removeprefix("aten::").partition(".")
        function = getattr(getattr(torch.ops.aten, name), overload or "default")
        with torch.no_grad():
            result = function(*self.value(step["args"]), **{k: self.value(v) for k, v in step["kwargs"].items()})
        results = [leaf for item in (result if isinstance(result, (tuple, list)) else [result]) for leaf in _flat(item)]
        assert len(results) == len(step["outs"]), step
        for out, value in zip(step["outs"], results):
            if out >= 0:
                self._store(out, value)

    def _constant(self, step: dict[str, Any]) -> torch.Tensor:
        _, dtype, sizes, *_ = self.plan["tensors"][step["out"]]
        return torch.frombuffer(bytearray(step["data"]), dtype=getattr(torch, dtype)).reshape(sizes)

    def _store(self, out: int, value: torch.Tensor) -> None:
        storage, dtype, sizes, strides, offset, _ = self.plan["tensors"][out]
        assert str(value.dtype) == f"torch.{dtype}" and list(value.shape) == sizes
        if value.numel() > 0 and list(value.stride()) != strides:
            value = torch.empty_strided(sizes, strides, dtype=value.dtype).copy_(value)
        last = offset + sum((n - 1) * s for n, s in zip(sizes, strides)) if 0 not in sizes else -1
        assert (last + 1) * value.element_size() <= self.plan["storages"][storage]
        self.values[out] = value

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, inner),) = value.items()
        if kind == "t":
            return self.values[inner]
        if kind == "device":
            return torch.device("cpu")
        return getattr(torch, inner)

    def outputs(self) -> list[Any]:
        return [self.value(value) for value in self.plan["outputs"]]


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, (tuple, list)) else [value]


def eager(text: str, seed: int, entry: str = "Model") -> list[Any]:
    """What plain PyTorch on the CPU returns for a reference, seeded as `replayed` seeds a replay; the second call of two."""
    scope: dict[str, Any] = {"__name__": "eager"}
    exec(compile(source_of(text), "eager.py", "exec"), scope)
    with torch.no_grad():
        torch.default_generator.manual_seed(seed)
        init = scope.get("get_init_inputs", list)()
        inputs = scope["get_inputs"]()
        torch.default_generator.manual_seed(seed + 1)
        model = scope[entry](*init) if isinstance(scope[entry], type) else scope[entry]
        torch.default_generator.manual_seed(seed + 2)
        result = model(*inputs)
    return list(result) if isinstance(result, (tuple, list)) else [result]


def replayed(plan: dict[str, Any], seed: int) -> list[Any]:
    """Outputs of a reference's Plan, each phase seeded."""
    replay = Replay(plan)
    for offset, phase in enumerate(("generate", "setup", "run")):
        torch.default_generator.manual_seed(seed + offset)
        replay.run(phase)
    return replay.outputs()
