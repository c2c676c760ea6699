"""Turns the TTIR text of one kernel into a cubin: Triton's own back end, stage by stage, and its ptxas.

`warm_up()` once per process, then `record(request)` in a child forked from it. The text is somebody else's; nothing
of theirs runs here as Python. Formats: docs/formats/worker.md. C++ side: src/cuda/compiler.cc.
"""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
from typing import Any

os.environ["MLIR_DISABLE_MULTITHREADING"] = "1"  # a fork copies no threads, and the jail allows none

from triton import knobs  # noqa: E402
from triton._C.libtriton import ir, passes  # noqa: E402
from triton.backends.compiler import GPUTarget, Language  # noqa: E402
from triton.backends.nvidia.compiler import get_ptxas, ptx_get_version, sm_arch_from_capability  # noqa: E402
from triton.compiler.compiler import make_backend  # noqa: E402

# The text comes without locations; MLIR would put its own line numbers, and ptxas the file's time, into the cubin.
knobs.compilation.disable_line_info = True

_DETAIL_BYTES = 8 << 10
# ptxas takes and returns blocks of some MB: from one heap that grows in large steps, instead of a mapping each.
_PTXAS_MEMORY = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432:glibc.malloc.top_pad=16777216"
_PARAMETER = re.compile(r"\.param (?:\.align (\d+) )?\.[a-z](\d+) [^,\[\n]*(?:\[(\d+)\])?")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill (?:stores|loads)")


class _Failure(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class _Ptxas:
    """One of Triton's two ptxas, which serve different architectures. Asked for its version before any child exists."""

    def __init__(self, arch: int) -> None:
        tool = get_ptxas(arch)
        self.path = os.path.realpath(tool.path)
        self.ptx_version = ptx_get_version(tool.version)


_OLDER, _BLACKWELL = _Ptxas(80), _Ptxas(100)


def _loader(program: str) -> list[str]:
    """The dynamic loader that a program names near its head, which the kernel starts with it."""
    with open(program, "rb") as file:
        named = re.search(rb"/[\w./-]+/ld-[\w.-]+", file.read(4096))
    return [os.path.realpath(os.fsdecode(named[0]))] if named else []


PROGRAMS = (_OLDER.path, _BLACKWELL.path, *{*_loader(_OLDER.path), *_loader(_BLACKWELL.path)})


@functools.cache
def _context() -> ir.context:
    """One MLIR context with all dialects; a forked child inherits it."""
    context = ir.context()
    context.printOpOnDiagnostic(False)  # what is wrong, without the whole module
    ir.load_dialects(context)
    make_backend(GPUTarget("cuda", 90, 32)).load_dialects(context)
    return context


def warm_up() -> None:
    """Goes through all stages but ptxas once, so that no child pays for what LLVM sets up on first use."""
    text = "module { tt.func public @warm_up(%p: !tt.ptr<f32>) { tt.return } }"
    options = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}
    _lower({"ttir": text, "options": options, "capability": 90, "warp_size": 32}, os.environ.get("TMPDIR", "/tmp"))


def record(request: dict) -> dict:
    try:
        return {"ok": True, "kernel": _compile(request)}
    except _Failure as failure:
        return {"ok": False, "reason": failure.reason, "detail": _cut(str(failure))}


def _compile(request: dict) -> dict:
    folder = os.getcwd()
    ptx, metadata, options, signature = _lower_or_say_why(request, folder)
    cubin, log = _assemble(ptx, request["capability"], options, folder)
    name = metadata["name"]
    kernel = {
        "name": name,
        "cubin": cubin,
        "signature": signature,
        "slots": _slots(ptx, name),
        "descriptors": [
            {key: meta[key] for key in ("swizzle", "elem_size", "elem_type", "block_size", "fp4_padded")}
            for meta in metadata["tensordesc_meta"] or ()
        ],
        "num_warps": metadata.get("num_warps", options.num_warps),
        "num_ctas": options.num_ctas,
        "shared": metadata["shared"] or 0,
        "tensor_memory": metadata["tmem_size"] or 0,
        "global_scratch": [metadata["global_scratch_size"] or 0, metadata["global_scratch_align"] or 1],
        "profile_scratch": [metadata["profile_scratch_size"], metadata["profile_scratch_align"]],
        "launch_pdl": options.launch_pdl,
        "launch_cooperative_grid": options.launch_cooperative_grid,
        "registers": max(map(int, _REGISTERS.findall(log)), default=0),
        "spill_bytes": sum(map(int, _SPILLS.findall(log))),
    }
    if request.get("want_ptx"):
        kernel["ptx"] = ptx
    return kernel


def _lower_or_say_why(request: dict, folder: str) -> tuple[str, dict[str, Any], Any, list[str]]:
    """As _lower. A failing pass prints the whole module behind its reasons, and of a child's output the end is kept; when
    MLIR is told to write modules into files it copies them before every pass, so that is left to a second attempt."""
    try:
        return _lower(request, folder)
    except _Failure as failure:
        if failure.reason != "lowering":
            raise
    os.environ["TRITON_REPRODUCER_PATH"] = os.path.join(folder, "reproducer")
    return _lower(request, folder)


def _lower(request: dict, folder: str) -> tuple[str, dict[str, Any], Any, list[str]]:
    """TTIR → PTX, metadata as Triton collects it, options, types of the kernel's parameters."""
    capability = request["capability"]
    target = GPUTarget("cuda", capability, request["warp_size"])
    backend = make_backend(target)
    try:
        options = backend.parse_options({**request["options"], "ptx_version": _ptxas(capability).ptx_version})
    except (ValueError, AssertionError) as error:
        raise _Failure("invalid", f"Triton does not accept the launch options: {error}") from error
    module, signature = _parse(request["ttir"], folder)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    metadata: dict[str, Any] = {}
    try:
        if capability < 90:  # TTIR of a newer GPU keeps descriptors, which older ones do not have
            manager = ir.pass_manager(module.context)
            passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
            manager.run(module, "rewrite_tensor_descriptor_to_pointer")
        for stage in ("ttgir", "llir", "ptx"):
            module = stages[stage](module, metadata)
    except Exception as error:
        raise _Failure("lowering", f"Triton cannot lower the kernel ({_describe(error)})") from error
    return module, metadata, options, signature


def _describe(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _parse(text: str, folder: str) -> tuple[Any, list[str]]:
    path = os.path.join(folder, "kernel.ttir")
    with open(path, "w") as file:
        file.write(text)
    try:
        module = ir.parse_mlir_module(path, _context())
        module.context = _context()
        function = module.get_function(module.get_entry_func_name())
        return module, [str(kind) for kind in module.get_function_signature(function)]
    except Exception as error:
        raise _Failure("invalid", f"Triton does not parse the TTIR ({_describe(error)})") from error


def _ptxas(capability: int) -> _Ptxas:
    return _BLACKWELL if capability >= 100 else _OLDER


def _assemble(ptx: str, capability: int, options: Any, folder: str) -> tuple[bytes, str]:
    """PTX → cubin with the arguments of Triton's make_cubin, debug information left out; also what ptxas printed."""
    source, binary = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
    with open(source, "w") as file:
        file.write(ptx)
    fusion = [] if options.enable_fp_fusion else ["--fmad=false"]
    architecture = f"--gpu-name={sm_arch_from_capability(capability)}"
    command = [_ptxas(capability).path, *fusion, "-v", architecture, source, "-o", binary]
    environment = {**os.environ, "GLIBC_TUNABLES": _PTXAS_MEMORY}
    ended = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    log = ended.stderr.decode(errors="replace")
    if ended.returncode != 0:
        how = f"exit status {ended.returncode}"
        if ended.returncode < 0:
            how = f"signal {signal.Signals(-ended.returncode).name}"
        raise _Failure("ptxas", f"ptxas refuses the kernel ({how}):\n{log}")
    with open(binary, "rb") as file:
        return file.read(), log


def _slots(ptx: str, name: str) -> list[list[int]]:
    """[bytes, alignment] of each parameter that the kernel's entry declares."""
    start = ptx.index(f".entry {name}(") + len(f".entry {name}")
    declared = ptx[start : ptx.index("{", start)].rsplit(")", 1)[0] + ")"
    slots = []
    for alignment, bits, count in _PARAMETER.findall(declared):
        size = int(bits) // 8
        slots.append([size * int(count or 1), int(alignment or size)])
    return slots


def _cut(text: str) -> str:
    return text if len(text) <= _DETAIL_BYTES else text[: _DETAIL_BYTES // 2] + "\n…\n" + text[-_DETAIL_BYTES // 2 :]
