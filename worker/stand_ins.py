"""Stands in for the symbolic half of PyTorch's shape functions, which recorded programs never need: sizes are numbers here;
and for flexible attention, which is a compiler's.

On first use those functions import `torch.fx.experimental.symbolic_shapes` and with it sympy, 0.6 s in every child. Each
stand-in answers the few names that plain numbers need; asked for anything else, it loads the real module and becomes it.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

import torch
import torch.nn.attention

import flexible_attention


class _StandIn(ModuleType):
    def __init__(self, name: str, answers: dict[str, Any], is_package: bool) -> None:
        super().__init__(name)
        self._answers = answers
        self._is_package = is_package
        self._real: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if self._real is None:
            if name in self._answers:
                return self._answers[name]
            if name.startswith("__") and (name != "__path__" or not self._is_package):
                raise AttributeError(name)  # the import system asks
            del sys.modules[self.__name__]
            self._real = importlib.import_module(self.__name__)
        return getattr(self._real, name)


def _no_symbol(_value: Any, *_rest: Any) -> bool:
    return False


def _condition(value: Any, *_rest: Any) -> bool:
    return bool(value)


_SHAPES = {
    "expect_true": _condition,
    "guard_or_false": _condition,
    "guard_or_true": _condition,
    "guard_size_oblivious": _condition,
    "statically_known_true": _condition,
    "is_nested_int": _no_symbol,
    "has_free_symbols": _no_symbol,
    "has_hint": lambda _value: True,
    "size_hint": lambda value, *_, **__: value,
    "sym_eq": lambda a, b: a == b,
    "sym_and": lambda *values: all(values),
    "sym_or": lambda *values: any(values),
}


def install() -> None:
    """Modules that are loaded already stay as they are."""
    for stand_in in (
        _StandIn("torch.fx.experimental.symbolic_shapes", _SHAPES, is_package=False),
        _StandIn("sympy", {"Basic": type("Basic", (), {})}, is_package=True),  # asked whether a number is one
        _StandIn("torch.nn.attention.flex_attention", flexible_attention.NAMES, is_package=False),
    ):
        sys.modules.setdefault(stand_in.__name__, stand_in)
    torch.nn.attention.flex_attention = sys.modules["torch.nn.attention.flex_attention"]
