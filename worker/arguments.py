"""What a program is given: arguments as its harness passes them, and as descriptors that another program's are made of."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import inspect
import re
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch.utils._pytree import register_pytree_node

import cuda_api
import guards
from packing import spelled
from tape import DTYPE_NAMES


class Sequence(tuple):
    """A list or tuple among a candidate's arguments. A Plan does not say which it was, so it adds to either, and so
    does a part of it."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return Sequence(found) if isinstance(at, slice) else found

    def __mul__(self, times: int) -> Sequence:
        return Sequence(super().__mul__(times))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Sequence:
        return Sequence((*self, *other))

    def __radd__(self, other: Any) -> Sequence:
        return Sequence((*other, *self))


register_pytree_node(Sequence, lambda given: (list(given), None), lambda items, _: Sequence(items))  # as lists are


class Bag(SimpleNamespace):
    """An object among a candidate's arguments by its attributes, where the candidate's file does not have its class. The
    class of this one has the name that the reference's file has for it."""


_GIVEN_AS: dict[type, str] = {}  # names of classes of what candidates were given


def object_of(name: str, given: dict[str, Any], module: ModuleType | None) -> Any:
    """An object with these attributes, of the class that the file calls so; a Bag where it has none."""
    first, *rest = name.split(".")
    kind = vars(module).get(first) if module is not None else None
    for part in rest:
        kind = getattr(kind, part, None)
    if not isinstance(kind, type):
        return type(name, (Bag,), {})(**given)
    _GIVEN_AS[kind] = name
    made = kind.__new__(kind)
    for name, item in given.items():
        of_class = inspect.getattr_static(kind, name, made)
        if not isinstance(of_class, (property, functools.cached_property)) and not (_is_plain(item) and of_class == item):
            object.__setattr__(made, name, item)
    return made


_OF_PROGRAMS = ("reference", "candidate", "types", "argparse")  # modules of classes: the file's, namespaces


def is_object(value: Any) -> bool:
    """Whether an argument is taken by its attributes: what a dataclass, a class of the file or a namespace is called with."""
    kind = type(value)
    if callable(value) or isinstance(value, (torch.Tensor, enum.Enum, dict, list, tuple)):
        return False
    return dataclasses.is_dataclass(kind) or hasattr(value, "__dict__") and kind.__module__ in _OF_PROGRAMS or isinstance(value, Bag)


def own_attributes(value: Any) -> dict[str, Any]:
    own = {name: getattr(value, name, None) for name in getattr(type(value), "__dataclass_fields__", ())}
    return {**own, **getattr(value, "__dict__", {})}


def attributes(value: Any) -> dict[str, Any]:
    """An object's own, and what is plain of its class's; properties only where it holds no tensors. Printed modules
    have the same function (src/emit/helpers.cc)."""
    found = own_attributes(value)
    if not any(isinstance(item, torch.Tensor) for item in found.values()):
        names = [name for name in dir(type(value)) if not name.startswith("__") and name not in found]
        of_class = {name: getattr(value, name, None) for name in names}
        found.update((name, item) for name, item in of_class.items() if _is_plain(item))
    return dict(sorted(found.items()))


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, (bool, int, float, str, type(None), torch.dtype, torch.device))


def map_arguments(function: Callable[[Any], Any], value: Any) -> Any:
    """Arguments with `function` applied to what lists, tuples, dicts and objects hold, which are others of the same class."""
    if isinstance(value, dict):
        fresh = copy.copy(value)  # an OrderedDict, a defaultdict with its factory
        for key, item in value.items():
            fresh[key] = map_arguments(function, item)
        return fresh
    if is_object(value):
        fresh = copy.copy(value)
        for name, item in own_attributes(value).items():
            object.__setattr__(fresh, name, map_arguments(function, item))  # frozen ones, too
        return fresh
    if not isinstance(value, (list, tuple)):
        return function(value)
    items = [map_arguments(function, item) for item in value]
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def copied(value: Any) -> Any:
    """The same tensors and numbers in lists, tuples, dicts and objects of their own."""
    return map_arguments(lambda item: item, value)


def rendered(value: Any, module: ModuleType | None, render: Callable[[Any], Any]) -> dict[str, Any]:
    """A dict or an object as Plans and requests have it (docs/formats/plan.md), with `render` of what it holds."""
    if isinstance(value, dict):
        return {"dict": [[_key(key), render(item)] for key, item in value.items()]}
    entries = [[_key(name), render(item)] for name, item in attributes(value).items()]
    return {"object": [_spelled_class(value, module), entries]}


def _key(key: Any) -> str:
    """Printed programs have it in them as it is, between quotes."""
    if type(key) is not str or not re.fullmatch(r"[ !#-\[\]-~]{0,1024}", key):
        guards.reject("argument", f"a dict has {key!r:.60} among its keys; use text of plain ASCII without quotes")
    return key


def _spelled_class(value: Any, module: ModuleType | None) -> str:
    """What the file calls an object's class. Raises where it has no name for it."""
    if isinstance(value, Bag):
        return type(value).__name__
    if not (name := _GIVEN_AS.get(type(value)) or spelled(type(value), module)):
        guards.reject("argument", f"the file has no name at its top level for {type(value).__name__}, the class of an argument")
    return name


def as_list(value: Any, name: str) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if not isinstance(value, (list, tuple)):
        guards.reject("contract", f"{name}() returns a {type(value).__name__}; it must return a list of arguments")
    return list(value)


def to_cuda(value: Any) -> Any:
    """Arguments as KernelBench passes them: tensors on the device, everything else as it is."""
    return map_arguments(lambda item: item.to(cuda_api.DEVICE) if isinstance(item, torch.Tensor) else item, value)


def described(value: Any, module: ModuleType | None) -> Any:
    """The descriptor that record.py makes an equal argument of; the host writes the same from a Plan."""
    if isinstance(value, torch.Tensor):
        return {"tensor": [DTYPE_NAMES[value.dtype], list(value.shape), list(value.stride())]}
    if isinstance(value, torch.dtype):
        return {"dtype": DTYPE_NAMES[value]}
    if isinstance(value, torch.device):
        return {"device": value.type}
    if isinstance(value, (list, tuple)):
        return [described(item, module) for item in value]
    if isinstance(value, dict) or is_object(value):
        return rendered(value, module, lambda item: described(item, module))
    return value
