"""The Python text of a kernel and of what it needs, so that a shipped module can hold both.

`source` starts at the `@triton.jit` decorator: what `@triton.autotune` and `@triton.heuristics` chose stands in the
launch. `support` is the smallest set of top-level statements of the file that the kernel refers to, in file order.
"""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import triton
from triton.runtime.jit import JITFunction


class SourceFile:
    """A program's text, taken apart once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def _statements(self) -> list[ast.stmt]:
        return ast.parse(self.text).body

    @cached_property
    def _definitions(self) -> dict[str, list[int]]:
        """Name → indices of the top-level statements that bind it."""
        found: dict[str, list[int]] = {}
        for index, statement in enumerate(self._statements):
            for name in _bound(statement):
                found.setdefault(name, []).append(index)
        return found

    def kernel(self, function: JITFunction, helpers: Iterable[str] = ()) -> tuple[str, str]:
        """`source` and `support` of a kernel of this file that is given `helpers`, functions, by name."""
        source = _without_tuning(textwrap.dedent("".join(function.raw_src)))
        constants = _closure_constants(function)
        read = _names(ast.parse(source)) | set(helpers)
        wanted = self._needed(read - {function.__name__} - constants.keys(), function)
        support = [self._text(self._statements[index]) for index in sorted(wanted)]
        support += [f"{name} = {text}" for name, text in sorted(constants.items())]
        return source.rstrip() + "\n", "".join(text.rstrip() + "\n" for text in support)

    def _needed(self, names: set[str], function: JITFunction) -> set[int]:
        wanted: set[int] = set()
        todo = set(names)
        while todo:
            for index in self._definitions.get(todo.pop(), ()):
                statement = self._statements[index]
                if index not in wanted and function.__name__ not in _bound(statement):
                    wanted.add(index)
                    todo |= _names(statement)
        return wanted

    def _text(self, statement: ast.stmt) -> str:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(d.lineno for d in decorators)])
        text = "\n".join(self._lines[first - 1 : statement.end_lineno]) + "\n"
        return _without_tuning(text) if decorators else text


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds, also inside `if` and `try`."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    names: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names


def _names(tree: ast.AST) -> set[str]:
    """Names that a piece of code reads and that are not Python's own."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return {name for name in read if not hasattr(builtins, name)}


def _without_tuning(text: str) -> str:
    """The text of a function from its `@triton.jit` on, other decorators above it left out."""
    try:
        (function,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return text
    lines = text.splitlines(keepends=True)
    for decorator in getattr(function, "decorator_list", ()):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(called).split(".")[-1] == "jit":
            return "".join(lines[decorator.lineno - 1 :])
    return text


def _closure_constants(function: JITFunction) -> dict[str, str]:
    """Plain values that a kernel defined inside a function takes from there."""
    import inspect

    found = {}
    for name, value in inspect.getclosurevars(function.fn).nonlocals.items():
        if isinstance(value, triton.language.constexpr):
            found[name] = f"tl.constexpr({value.value!r})"
        elif isinstance(value, (int, float, str)) or value is None:
            found[name] = repr(value)
        elif isinstance(value, triton.language.dtype):
            found[name] = f"tl.{value}"
    return found


def jit_functions(scope: dict[str, Any]) -> list[JITFunction]:
    """The @triton.jit functions among the globals of a module, out of their wrappers."""
    found = []
    for value in scope.values():
        while not isinstance(value, JITFunction) and hasattr(type(value), "run") and hasattr(value, "fn"):
            value = value.fn
        if isinstance(value, JITFunction):
            found.append(value)
    return found
