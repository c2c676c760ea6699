"""Arguments and results of operators: values in lists, tuples and dictionaries."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any


def map_leaves(function: Callable[[Any], Any], value: Any, kind: type | tuple[type, ...]) -> Any:
    """`value` with `function` applied to each value of this kind in it."""
    if isinstance(value, kind):
        return function(value)
    if type(value) in (list, tuple):
        return type(value)([map_leaves(function, item, kind) for item in value])
    if type(value) is dict:
        return {key: map_leaves(function, item, kind) for key, item in value.items()}
    if isinstance(value, tuple):  # torch.return_types.*
        return tuple(map_leaves(function, item, kind) for item in value)
    return value


def map_arguments(function: Callable[[Any], Any], value: Any) -> Any:
    """A program's arguments with `function` applied to what its lists, tuples and dicts hold, which keep their classes."""
    if isinstance(value, dict):
        fresh = copy.copy(value)  # an OrderedDict, a defaultdict with its factory
        for key, item in value.items():
            fresh[key] = map_arguments(function, item)
        return fresh
    if not isinstance(value, (list, tuple)):
        return function(value)
    items = [map_arguments(function, item) for item in value]
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def leaves(value: Any, kind: type | tuple[type, ...]) -> list[Any]:
    """The values of this kind in `value`, in order."""
    found: list[Any] = []
    map_leaves(found.append, value, kind)
    return found
