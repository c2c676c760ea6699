"""The Python text of a kernel and of what it needs, so that a shipped module can hold both.

`source` starts at the `@triton.jit` decorator: what `@triton.autotune` and `@triton.heuristics` chose stands in the
launch. `support` is the smallest set of top-level statements of the file that the kernel refers to, in file order.
"""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import triton
from triton.runtime.jit import JITFunction


class SourceFile:
    """A program's text, taken apart once. Raises SyntaxError."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.tree = ast.parse(text, name)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def _ended_lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    @cached_property
    def _definitions(self) -> dict[str, list[int]]:
        """Name → indices of the top-level statements that bind it."""
        found: dict[str, list[int]] = {}
        for index, statement in enumerate(self.tree.body):
            for name in _bound(statement):
                found.setdefault(name, []).append(index)
        return found

    @cached_property
    def _functions(self) -> dict[int, ast.FunctionDef]:
        """The top-level functions by the first line of their text. None where Python counts other lines than we do."""
        newlines = self.text.count("\n") + (not self.text.endswith("\n"))
        if len(self._lines) != newlines:
            return {}
        return {_first_line(node): node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    def function(self, function: Callable) -> ast.FunctionDef | None:
        """The node of a Python function, when it is a top-level one of this file."""
        code = function.__code__
        node = self._functions.get(code.co_firstlineno) if code.co_filename == self.name else None
        return node if node is not None and node.name == code.co_name else None

    def source_lines(self, function: Callable) -> tuple[list[str], int] | None:
        """What inspect.getsourcelines gives for a function, without its tokenizer; None where that may see more."""
        node = None if hasattr(function, "__wrapped__") else self.function(function)
        if node is None:
            return None
        following = next((line for line in self._lines[node.end_lineno :] if line.strip()), "end")
        if following[0].isspace():  # a comment inside the block, which is no part of the tree
            return None
        first = _first_line(node)
        return self._ended_lines[first - 1 : node.end_lineno], first

    def kernel(self, function: JITFunction, helpers: Iterable[str] = ()) -> tuple[str, str]:
        """`source` and `support` of a kernel of this file that is given `helpers`, functions, by name."""
        source, names = self._without_tuning(function)
        constants = _closure_constants(function)
        wanted = self._needed((names | set(helpers)) - {function.__name__} - constants.keys(), function)
        support = [self._text(self.tree.body[index]) for index in sorted(wanted)]
        support += [f"{name} = {text}" for name, text in sorted(constants.items())]
        return source.rstrip() + "\n", "".join(text.rstrip() + "\n" for text in support)

    def _without_tuning(self, function: JITFunction) -> tuple[str, set[str]]:
        """A kernel's text from `@triton.jit` on, and the names that it reads."""
        node = self.function(function.fn)
        if node is None or function.starting_line_number != _first_line(node):
            source = _without_tuning(textwrap.dedent("".join(function.raw_src)))
            return source, _names(ast.parse(source))
        place = next((i for i, decorator in enumerate(node.decorator_list) if _is_jit(decorator)), 0)
        kept = node.decorator_list[place:]
        parts = [*kept, node.args, *node.body, *filter(None, [node.returns])]
        skipped = kept[0].lineno - function.starting_line_number if kept else 0
        return textwrap.dedent("".join(function.raw_src[skipped:])), set().union(*map(_names, parts))

    def _needed(self, names: set[str], function: JITFunction) -> set[int]:
        wanted: set[int] = set()
        todo = set(names)
        while todo:
            for index in self._definitions.get(todo.pop(), ()):
                statement = self.tree.body[index]
                if index not in wanted and function.__name__ not in _bound(statement):
                    wanted.add(index)
                    todo |= _names(statement)
        return wanted

    def _text(self, statement: ast.stmt) -> str:
        text = "\n".join(self._lines[_first_line(statement) - 1 : statement.end_lineno]) + "\n"
        return _without_tuning(text) if getattr(statement, "decorator_list", []) else text


def _first_line(statement: ast.stmt) -> int:
    return min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])


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
    read: set[str] = set()
    todo: list[Any] = [tree]
    while todo:  # ast.walk takes half as long again
        node = todo.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                read.add(node.id)
        elif isinstance(node, ast.AST):
            todo += vars(node).values()
        elif isinstance(node, list):
            todo += node
    return {name for name in read if not hasattr(builtins, name)}


def _without_tuning(text: str) -> str:
    """The text of a function from its `@triton.jit` on, other decorators above it left out."""
    try:
        (function,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return text
    lines = text.splitlines(keepends=True)
    for decorator in getattr(function, "decorator_list", ()):
        if _is_jit(decorator):
            return "".join(lines[decorator.lineno - 1 :])
    return text


def _is_jit(decorator: ast.expr) -> bool:
    """@jit, @triton.jit, @triton.jit(…)."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(called, "attr", getattr(called, "id", "")) == "jit"


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
