"""What a program returns, taken apart: leaves, how they are packed, and what the containers are called in the file."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from guards import reject

_PLAIN = (tuple, list, dict)


@dataclass
class Packing:
    """`structure` and `packed` as in docs/formats/plan.md."""

    module: ModuleType | None  # where names of types are looked up
    leaves: list[Any] = field(default_factory=list)
    structure: str = ""
    packed: list[list[Any]] = field(default_factory=list)
    _containers: int = 0

    @staticmethod
    def of(value: Any, module: ModuleType | None = None) -> Packing:
        packing = Packing(module)
        packing.structure = packing._text(value)
        return packing

    def _text(self, value: Any) -> str:
        is_record = dataclasses.is_dataclass(value) and not isinstance(value, (type, *_PLAIN))
        if not is_record and not isinstance(value, _PLAIN):
            self.leaves.append(value)
            return "*"
        if is_record or type(value) not in _PLAIN:
            fields = [f.name for f in dataclasses.fields(value)] if is_record else _fields(value)
            name = spelled(type(value), self.module)
            printable = all(map(str.isascii, (name, *fields)))
            self.packed.append([self._containers, name if printable else "", fields if printable else []])
        self._containers += 1
        if is_record:
            value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        if isinstance(value, dict):
            return "{" + ",".join(f"{_key(key)}:{self._text(item)}" for key, item in value.items()) + "}"
        inner = ",".join(self._text(item) for item in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"


def _fields(value: Any) -> list[str]:
    """Of a named tuple, and of what operators of PyTorch return (torch.return_types.max)."""
    if isinstance(names := getattr(type(value), "_fields", None), tuple):
        return list(names)
    return list(getattr(type(value), "__match_args__", ())) if type(value).__module__ == "torch.return_types" else []


def spelled(kind: type, module: ModuleType | None) -> str:
    """How the file can name the type; empty where it cannot."""
    if kind.__module__ == "torch.return_types":
        return f"torch.return_types.{kind.__name__}"
    names = dict(vars(module)) if module is not None else {}
    for name, value in names.items():
        if value is kind:
            return name
    for name, value in names.items():
        if isinstance(value, (ModuleType, type)) and vars(value).get(kind.__name__) is kind:
            return f"{name}.{kind.__name__}"
    return f"collections.{kind.__name__}" if kind.__module__ == "collections" else ""


def _key(key: Any) -> str:
    """The key of a dict: text or a number, which are not the same."""
    if not (type(key) is str or type(key) is int and -(1 << 63) <= key < 1 << 63):
        reject("contract", f"a dict has a {type(key).__name__} among its keys; use text or numbers")
    return json.dumps(key)
