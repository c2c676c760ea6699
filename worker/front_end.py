"""Triton's front end without what it does again and again: the same TTIR in less time.

Every kernel of every program passes through it, so most of a recording is spent there. Each replacement does what the
original of Triton 3.6 does, only once; tests/test_front_end.py compares the texts that come out.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import math
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from triton import knobs
from triton._utils import validate_block_shape
from triton.compiler import code_generator
from triton.compiler.code_generator import CodeGenerator
from triton.compiler.errors import CompilationError
from triton.language import core, standard
from triton.language.semantic import TritonSemantic
from triton.runtime import jit
from triton.runtime.jit import DependenciesFinder, JITCallable

from kernels import SourceFile

source_file: SourceFile | None = None  # of the program that is being recorded

_plain_parse = JITCallable.parse
_plain_block_type = core.block_type.__init__
_plain_tuple_type = core._type_for_tuple_values
_plain_sanitize = TritonSemantic.binary_op_sanitize_overflow_impl


def install() -> None:
    """Changes Triton for the whole process, for good."""
    CodeGenerator.visit = _visit
    JITCallable.parse = _parse
    TritonSemantic.binary_op_sanitize_overflow_impl = _sanitize
    core.block_type.__init__ = _block_type
    core.tensor.__init__ = _tensor
    core._type_for_tuple_values = _tuple_type
    DependenciesFinder.generic_visit = _visit_parts
    code_generator.inspect = types.SimpleNamespace(getcallargs=inspect.getcallargs, signature=_signature)
    jit.inspect = types.SimpleNamespace(**{**vars(inspect), "getsourcelines": _source_lines})
    for function in vars(standard).values():  # tl.sum, tl.sigmoid, …: children inherit what is known of them
        if isinstance(function, JITCallable):
            function.cache_key, function.parse()


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """The filters of warnings under which a kernel is compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        yield


def _visit(self: CodeGenerator, node: ast.AST | None) -> Any:
    """The original enters `quietly` at every node."""
    if node is None:
        return None
    builder = self.builder
    last_node, last_loc = self.cur_node, builder.get_loc()
    self.cur_node = node
    if hasattr(node, "lineno") and hasattr(node, "col_offset"):
        here = builder.create_loc(self.file_name, self.begin_line + node.lineno, node.col_offset)
        if self.name_loc_as_prefix is not None:
            here = builder.create_name_loc(self.name_loc_as_prefix, here)
        builder.set_loc(here)
        last_loc = builder.get_loc()
    try:
        result = getattr(self, "visit_" + node.__class__.__name__, self.generic_visit)(node)
    except CompilationError:
        raise
    except Exception as error:
        if knobs.compilation.front_end_debugging:
            raise
        raise CompilationError(self.jit_fn.src, self.cur_node, repr(error)) from None
    if last_loc:
        self.cur_node = last_node
        builder.set_loc(last_loc)
    return result


def _parse(self: JITCallable) -> ast.Module:
    """The tree is asked for when dependencies are looked for and at each specialisation; nobody changes it."""
    known = self.__dict__.get("_tree")
    if known is None or known[0] is not self._src:
        known = self._tree = (self._src, _plain_parse(self))
    return known[1]


def _visit_parts(self: DependenciesFinder, node: ast.AST) -> None:
    """As in `ast`, but not to the many nodes without parts, such as Load() and Add(), which it has no method for."""
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST) and item._fields:
                    self.visit(item)
        elif isinstance(value, ast.AST) and value._fields:
            self.visit(value)


def _sanitize(self: TritonSemantic, lhs: Any, rhs: Any, binary_op: Callable) -> None:
    """Without `debug` the original computes the condition of an assertion, which it then leaves out."""
    if self.builder.options.debug:
        _plain_sanitize(self, lhs, rhs, binary_op)


def _source_lines(function: Callable) -> tuple[list[str], int]:
    known = source_file.source_lines(function) if source_file is not None else None
    return inspect.getsourcelines(function) if known is None else known


@functools.cache
def _parameters_of(function: Callable) -> inspect.Signature:
    return inspect.signature(function)


def _signature(function: Callable) -> inspect.Signature:
    """Asked at every call of a built-in whether it takes `_semantic`; of a method, `self` is in it."""
    return _parameters_of(getattr(function, "__func__", function))


def _sizes(values: Any) -> tuple[int, ...] | None:
    """The sizes of a shape as they are nearly always: plain numbers, wrapped or not."""
    sizes = tuple([value.value if type(value) is core.constexpr else value for value in values])
    return sizes if all([type(size) is int for size in sizes]) else None


@functools.cache
def _type_of_sizes(sizes: tuple[int, ...]) -> core.tuple_type:
    return _plain_tuple_type(sizes)


def _tuple_type(values: list[Any], fields: list[str] | None = None) -> core.tuple_type:
    sizes = _sizes(values) if fields is None else None
    return _plain_tuple_type(values, fields) if sizes is None else _type_of_sizes(sizes)


@functools.cache
def _block(sizes: tuple[int, ...]) -> tuple[int, str]:
    """Elements and text of a block's shape, which must be valid."""
    return validate_block_shape(sizes), str(core.tuple(sizes))


def _block_type(self: core.block_type, element_ty: core.dtype, shape: Any) -> None:
    sizes = _sizes(shape) if isinstance(shape, (list, core.tuple)) else None
    if not sizes:
        _plain_block_type(self, element_ty, shape)
        return
    self.element_ty = element_ty
    self.numel, text = _block(sizes)
    self.shape = core.tuple(sizes, _type_of_sizes(sizes))
    self.name = f"<{text}, {element_ty}>"


@functools.cache
def _wrapped(sizes: tuple[int, ...]) -> tuple[core.constexpr, ...]:
    return tuple([core.constexpr(size) for size in sizes])


def _tensor(self: core.tensor, handle: Any, type: core.dtype) -> None:
    sizes = tuple(type.shape.values) if type.is_block() else ()
    self.handle = handle
    self.type = type
    self.dtype = type.scalar
    self.numel = core.constexpr(math.prod(sizes))
    self.shape = core.tuple(_wrapped(sizes), _type_of_sizes(sizes))
