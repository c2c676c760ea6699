"""Rules of a recorded program, and how a breach reaches the user.

The jail is what keeps a program in; nothing here is a wall. These hooks only turn a breach into one clear sentence with
the line that caused it, because "Operation not permitted" from deep inside a library helps nobody.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn


class Rejected(BaseException):
    """A rule was broken. Not an `Exception`, so that `except Exception: fall_back()` in a program does not hide it."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message


class _State:
    active = False
    reference = False
    first: Rejected | None = None


def reject(rule: str, message: str) -> NoReturn:
    """Raises `Rejected`; the first one is kept, so that a bare `except:` does not hide it either."""
    breach = Rejected(rule, message)
    if _State.active and _State.first is None:
        _State.first = breach
    raise breach


def swallowed() -> Rejected | None:
    """The first breach since `watching()` began, whether or not the program let it through."""
    return _State.first


def forbid(rule: str, what: str) -> Callable[..., NoReturn]:
    """A function to put in the place of one that no program may call."""

    def forbidden(*args: Any, **kwargs: Any) -> NoReturn:
        reject(rule, what)

    return forbidden


def forbid_class(rule: str, what: str) -> type:
    """The same in the place of a class, which libraries name in annotations: `graph: torch.cuda.CUDAGraph | None`."""
    return type("Forbidden", (), {"__new__": forbid(rule, what)})


def check_compiled_call() -> None:
    """Before anything runs that torch.compile was given."""
    if _State.active and not _State.reference:
        reject("torch_compile", "torch.compile is not part of a Plan; write the kernels out")


@contextlib.contextmanager
def watching(reference: bool = False) -> Iterator[None]:
    """Turns the audit hook on for the time a program runs: a reference, or a candidate."""
    _State.first = None
    _State.active, _State.reference = True, reference
    try:
        yield
    finally:
        _State.active = False


_PROCESS = "starts a process; a program may only call PyTorch and launch Triton kernels"
_THREAD = "starts a thread; a program must run in the thread that called it"
_SOCKET = "opens a network connection; there is no network here"
_NATIVE = "loads or calls native code by itself; only PyTorch and Triton may"

_EVENTS = {
    "subprocess.Popen": ("process", _PROCESS),
    "os.fork": ("process", _PROCESS),
    "os.forkpty": ("process", _PROCESS),
    "os.posix_spawn": ("process", _PROCESS),
    "os.exec": ("process", _PROCESS),
    "os.system": ("process", _PROCESS),
    "os.kill": ("process", "sends a signal to a process; a program has no business with processes"),
    "socket.__new__": ("socket", _SOCKET),
    "socket.connect": ("socket", _SOCKET),
    "socket.getaddrinfo": ("socket", _SOCKET),
    "ctypes.dlopen": ("native_code", _NATIVE),
    "os.remove": ("file", "removes a file; there are no files here"),
    "os.rename": ("file", "renames a file; there are no files here"),
    "os.mkdir": ("file", "makes a folder; there are no files here"),
    "os.listdir": ("file", "lists a folder; there are no files here"),
    "os.scandir": ("file", "lists a folder; there are no files here"),
}

# Where Python itself and the libraries live: modules are imported late, and Triton reads the source of its functions.
_LIBRARIES = tuple({os.path.realpath(p) for p in (sys.prefix, sys.base_prefix)} | {sys.prefix, sys.base_prefix})
# What libraries read when they are imported (filelock, behind transformers, asks which boot this is).
_READ_ON_IMPORT = frozenset({"/dev/null", "/dev/urandom", "/proc/sys/kernel/random/boot_id"})


def _audit(event: str, args: tuple) -> None:
    if not _State.active:
        return
    if event == "open":
        path, _, flags = args
        if isinstance(path, int) or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) == 0 and _harmless(path):
            return
        reject("file", f"opens the file {str(path)[:200]!r}; a program may not read or write files")
    elif event in _EVENTS:
        rule, what = _EVENTS[event]
        if rule == "file" and _harmless(args[0] if args else "."):
            return
        reject(rule, "the program " + what)


def _harmless(path: Any) -> bool:
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
    return text.startswith(_LIBRARIES) or text in sys.path or text in _READ_ON_IMPORT


def install() -> None:
    """Puts the hooks in place, once per process; an audit hook cannot be taken out again."""
    sys.addaudithook(_audit)
    _thread.start_new_thread = threading._start_new_thread = _start_thread  # has no audit event in Python 3.11
    _forbid_in_torch()


_start_new_thread = _thread.start_new_thread


def _start_thread(*args: Any) -> int:
    if _State.active:
        reject("thread", "the program " + _THREAD)
    return _start_new_thread(*args)


def _forbid_in_torch() -> None:
    import torch
    import torch.distributed.elastic.multiprocessing.redirects  # opens libc when libraries import it  # noqa: F401
    import triton.testing

    torch.jit.script = lambda obj=None, *_, **__: obj  # same meaning without the compiler
    torch.jit.trace = forbid("torch_compile", "torch.jit.trace is not part of a Plan; call the function itself")
    torch.save = torch.load = forbid("file", "the program saves or loads a file; there are no files here")
    lazy = forbid("lazy_module", "lazy modules take their sizes from the first call; give them to the constructor")
    torch.nn.parameter.UninitializedParameter.__new__ = torch.nn.parameter.UninitializedBuffer.__new__ = lazy
    inline = forbid("inline_cuda", "CUDA or C++ sources are not accepted; kernels must be Triton")
    extension = types.ModuleType("torch.utils.cpp_extension")  # in place of the real one, which looks for compilers
    for name in ("load", "load_inline", "CUDAExtension", "CppExtension", "BuildExtension"):
        setattr(extension, name, inline)
    sys.modules[extension.__name__] = torch.utils.cpp_extension = extension
    torch.cuda._compile_kernel = inline
    gradient = forbid(
        "gradient", "the program takes gradients; autograd's graph is no part of a Plan: write them out as forward steps"
    )
    torch.autograd.grad = torch.autograd.backward = torch.Tensor.backward = gradient
    for name in ("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "linearize"):
        setattr(torch.func, name, gradient)
    for name in ("jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"):
        setattr(torch.autograd.functional, name, gradient)
    timing = forbid("timing", "a program may not measure time; offer variants with @triton.autotune")
    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(triton.testing, name, timing)


_NOT_PERMITTED = (
    ("socket", "socket", _SOCKET),
    ("subprocess", "process", _PROCESS),
    ("multiprocessing", "process", _PROCESS),
    ("threading", "thread", _THREAD),
)


def rule_of(error: BaseException, files: list[str]) -> tuple[str, str] | None:
    """The rule behind an error that means that the jail refused something. `files`: those of the traceback."""
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "thread", "the program " + _THREAD
    if not isinstance(error, PermissionError):
        return None
    for part, rule, what in _NOT_PERMITTED:
        if any(part in name for name in files):
            return rule, "the program " + what
    if error.filename is not None:
        return "file", f"the program opens {str(error.filename)[:200]!r}; it may not read or write files"
    return "system_call", f"the jail refused a system call of the program ({error.strerror or error})"
