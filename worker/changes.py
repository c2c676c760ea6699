"""What a call changes beside the tensors of the state: attributes of a module's parts and globals of its file.

A printed module launches kernels, which change none of them, so `convert` has to know.
"""

from __future__ import annotations

from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from tensors import RecordingTensor

_ATOMS = (bool, int, float, complex, str, bytes, type(None))
_TORCHS = frozenset(vars(torch.nn.Module()))  # parameters, buffers, parts, hooks, mode


def computed_by_hooks(part: torch.nn.Module) -> set[str]:
    """Attributes that torch.nn.utils.weight_norm, spectral_norm and prune compute before each call: of the state, no changes beside it."""
    hooks = part._forward_pre_hooks.values()
    normed = {hook.name for hook in hooks if isinstance(hook, (WeightNorm, SpectralNorm))}
    return normed | {hook._tensor_name for hook in hooks if isinstance(hook, BasePruningMethod)}


class Settings:
    """Everything that the parts of a module, the file, and lists, dicts and objects among arguments hold at one time, in
    a form that can be compared."""

    def __init__(self, called: Any, file: ModuleType, arguments: list[Any]) -> None:
        self.file = file
        self.alive: list[Any] = []  # so that no id is used twice
        self.values: dict[str, Any] = {}
        self.tensors: dict[str, set[int]] = {}  # the tids of those there
        parts = called.named_modules() if isinstance(called, torch.nn.Module) else ()
        for path, part in parts:
            self._add(f"self.{path}." if path else "self.", vars(part), skip=_TORCHS | computed_by_hooks(part))
        held = {n: v for n, v in vars(file).items() if not n.startswith("__") and not isinstance(v, (FunctionType, ModuleType))}
        self._add("", held)
        for place, argument in enumerate(arguments):  # their tensors may be written to
            self.values[f"argument {place}"] = self._form(argument, set(), set())

    def _add(self, prefix: str, members: dict[str, Any], skip: frozenset[str] = frozenset()) -> None:
        for name, value in members.items():
            if name not in skip:
                tids = self.tensors[prefix + name] = set()
                self.values[prefix + name] = self._form(value, set(), tids)

    def _form(self, value: Any, inside: set[int], tids: set[int]) -> Any:
        """Adds the tensors that it meets to `tids`."""
        if isinstance(value, RecordingTensor):
            tids.add(value.tid)
            return "tensor", value.tid
        if isinstance(value, _ATOMS):
            return type(value), repr(value)
        self.alive.append(value)
        if id(value) in inside:
            return "again"
        inside = inside | {id(value)}
        if isinstance(value, dict):
            return "dict", [(repr(key), self._form(item, inside, tids)) for key, item in value.items()]
        if isinstance(value, (list, tuple)):
            return type(value), [self._form(item, inside, tids) for item in value]
        if type(value).__module__ == self.file.__name__ and not isinstance(value, torch.nn.Module) or isinstance(value, SimpleNamespace):
            return id(value), self._form(dict(getattr(value, "__dict__", {})), inside, tids)
        return id(value)

    def changed_since(self, before: Settings, written: set[int], storage_of: Any) -> list[str]:
        """Names of what is another value than before, or a tensor in one of these storages."""
        names = [*before.values, *(name for name in self.values if name not in before.values)]
        return [
            name
            for name in names
            if before.values.get(name) != self.values.get(name)
            or any(storage_of(tid) in written for tid in self.tensors.get(name, ()))
        ]
