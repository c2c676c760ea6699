"""Arguments and results of operators: values in lists, tuples and dictionaries."""

from __future__ import annotations

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


def leaves(value: Any, kind: type | tuple[type, ...]) -> list[Any]:
    """The values of this kind in `value`, in order."""
    found: list[Any] = []
    map_leaves(found.append, value, kind)
    return found
