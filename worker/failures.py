"""Why there is no Plan: one reply per exception, with the line in the program and a sentence a person can act on."""

from __future__ import annotations

import linecache
import os
import traceback
from types import ModuleType
from typing import Any

import triton
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction

import guards
from kernels import jit_functions

_MAX_MESSAGE = 2000
_MAX_TRACE = 8000
_WORKER = os.path.dirname(os.path.abspath(__file__))
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(triton.__file__)))


def reply(error: BaseException, file: str, module: ModuleType | None) -> dict[str, Any]:
    """The reply for whatever ended a recording. A rule that was broken earlier, and hidden, comes first."""
    from triton_driver import CompileError

    breach = error if isinstance(error, guards.Rejected) else guards.swallowed()
    if breach is not None:
        line = getattr(breach, "line", None)
        return _failure(
            "rejected", breach.rule, breach.message, _line(breach, file) if line is None else line, breach, file
        )
    if isinstance(error, SyntaxError):
        return _failure("compile_error", "", f"{type(error).__name__}: {error.msg}", error.lineno or 0, error, file)
    if isinstance(error, CompileError):
        message, line = _kernel_error(error, file, module)
        return _failure("compile_error", "", message, line or _line(error, file), error.cause, file)
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if rule := guards.rule_of(error, files):
        return _failure("rejected", *rule, _line(error, file), error, file)
    if isinstance(error, SystemExit):
        return _failure(
            "runtime_error", "", f"the program called sys.exit({error.code!r})", _line(error, file), error, file
        )
    text = str(error).strip()
    message = type(error).__name__ + (f": {text}" if text else "")
    if isinstance(error, OutOfResources) and error.name == "shared memory":  # as the compiler of a GPU says it
        return _failure("compile_error", "", message, _line(error, file), error, file)
    return _failure("runtime_error", "", message, _line(error, file), error, file)


def _failure(kind: str, rule: str, message: str, line: int, error: BaseException, file: str) -> dict[str, Any]:
    return {
        "ok": False,
        "kind": kind,
        "rule": rule,
        "message": message[:_MAX_MESSAGE],
        "line": line,
        "trace": _trace(error, file)[-_MAX_TRACE:],
    }


def _line(error: BaseException, file: str) -> int:
    """The innermost line of the program's file in the traceback."""
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return lines[-1] if lines else 0


def _trace(error: BaseException, file: str) -> str:
    """The traceback: the program's lines, and the place in a library where it ended; nothing of the recorder."""
    frames = traceback.extract_tb(error.__traceback__)
    shown = [f for f in frames if f.filename == file]
    tail = [f for f in frames if f.filename != file and not f.filename.startswith((_WORKER, "<"))]
    if tail and frames and frames.index(tail[-1]) > (frames.index(shown[-1]) if shown else -1):
        shown.append(tail[-1])
    lines = []
    for frame in shown:
        name = frame.filename.removeprefix(_PACKAGES + os.sep)
        source = linecache.getline(file, frame.lineno).strip() if frame.filename == file else frame.line
        lines.append(f'  File "{name}", line {frame.lineno}, in {frame.name}\n    {source}\n')
    head = "Traceback (most recent call last):\n" if lines else ""
    return head + "".join(lines) + "".join(traceback.format_exception_only(error))


def _kernel_error(error: Any, file: str, module: ModuleType | None) -> tuple[str, int]:
    """Triton's message without its excerpt of the source, and the innermost line of the program's file."""
    chain: list[BaseException] = []
    cause: BaseException | None = error.cause
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__
    functions = [error.kernel, *(jit_functions(vars(module)) if module else [])]
    line, said = 0, ""
    for link in chain:
        if isinstance(link, CompilationError):
            line = _line_in(link, functions, file) or line
            said = link.error_message or said
        elif not isinstance(link, AssertionError) or str(link):
            said = f"{type(link).__name__}: {link}" if not said or not isinstance(link, CompilationError) else said
    return f"kernel {error.kernel.__name__}: {said.strip() or type(chain[-1]).__name__}", line


def _line_in(error: CompilationError, functions: list[JITFunction], file: str) -> int:
    """Where in the file the code lies that the front end stopped at; 0 when it is not the program's."""
    number = getattr(error.node, "lineno", 0)
    for function in functions:
        if function.src == error.src and function.fn.__code__.co_filename == file:
            head = next(i for i, text in enumerate(function.raw_src) if text.strip().startswith("def "))
            return function.starting_line_number + head + number - 1
    return 0
