"""Triton while a program is recorded: kernels are compiled to TTIR and no further, launches go on the tape.

`JITFunction.run` and `Autotuner.run` are replaced; binding, specialisation and the front end are Triton's own, so that
a kernel gets the TTIR that it would get on the GPU.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import torch
import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction, compute_cache_key

import front_end
import launch_memory
from guards import reject
from recording_driver import RecordingDriver
from tape import Step, Tid
from tensors import ADDRESS_BASE, RecordingTensor, current

_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_THREADS = 1024  # of a program
_OPTION_RANGES = {"num_stages": (0, 64), "num_ctas": (1, 16), "maxnreg": (0, 255)}  # as in src/plan/parse.cc
_PLAN_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_PLAN_FLAGS = {"enable_fp_fusion": True, "enable_reflect_ftz": True, "launch_cooperative_grid": False}
_NO_OTHER_OPTION = {"launch_pdl": False, "ir_override": None, "ptx_options": None, "ptx_version": None}
_SITE = re.compile(r'loc\("' + re.escape(os.path.dirname(os.path.dirname(triton.__file__))) + "/")

_SUFFIX_DTYPES = {
    "int1": "bool", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
}  # fmt: skip


class CompileError(Exception):
    """Triton did not accept a kernel. `cause` is what it raised."""

    def __init__(self, kernel: JITFunction, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.kernel = kernel
        self.cause = cause


@dataclass(eq=False)
class CompiledKernel:
    """A kernel as far as it is compiled; also what `kernel.warmup(…)` gives a program that asks for resources.

    Registers and shared memory are not known at this stage; the figures are those of a middling kernel.
    """

    function: JITFunction
    ttir: str
    options: dict[str, Any]
    signature: dict[str, Any]
    helpers: tuple[str, ...] = ()  # names of the @triton.jit functions among its constexprs
    shared_memory: int = 0  # bytes, where they may be more than there are
    specialization: list[Any] = field(default_factory=list)  # what it was compiled for, by argument
    n_regs: int = 64
    n_spills: int = 0
    asm: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = self.function.__name__
        self.metadata = SimpleNamespace(shared=32768, name=self.name, **self.options)

    def _init_handles(self) -> None:
        """Nothing to load."""

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """`kernel[grid](…)` compiles where it must; this launches what it has compiled, all arguments by position.

        Triton does not look at them. Here they have to be of the kind that the kernel was compiled for: anything else is no
        Plan's business.
        """

        def launch(*args: Any, stream: Any = None) -> None:
            binder = self.function.device_caches[0][-1]
            bound, specialization, _ = binder(*args, debug=False, instrumentation_mode="")
            if specialization != self.specialization:
                raise RuntimeError(f"{self.name} is launched with arguments of another kind than it was compiled for")
            _check_globals(self.function)
            _launch(self, _grid(grid, bound), bound)

        return launch

    @property
    def key(self) -> tuple:
        """Equal for kernels that do the same, whichever JITFunction they came from."""
        return self.name, self.ttir, tuple(self.options.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompiledKernel) and self.key == other.key


def install(capability: tuple[int, int]) -> None:
    os.environ["MLIR_DISABLE_MULTITHREADING"] = "1"  # the jail allows no threads, and they would not outlive a fork
    triton.runtime.driver.set_active(RecordingDriver(capability))
    for name, backend in triton.backends.backends.items():  # code printed by torch.compile looks there for a driver
        triton.backends.backends[name] = replace(backend, driver=RecordingDriver)
    front_end.install()
    JITFunction.run = _run
    torch.library.wrap_triton = lambda kernel: kernel  # a launch in an operator of torch.library is a launch
    torch._library.triton.get_inner_triton_kernels = lambda function: []  # a list for torch's compiler
    Autotuner.run = _run_autotuned


# Where launches go while an autotuned kernel lists its variants; None: each launch is a step.
_steps_beside: list[Step] = []  # what hooks and grid functions of these variants have done
_variants: list[dict[str, Any]] | None = None


def _run(self: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> CompiledKernel | None:
    """Takes the place of JITFunction.run."""
    if self.is_gluon():
        reject("gluon", f"kernel {self.__name__} is written in Gluon, which is not supported; write it in Triton")
    kwargs["debug"] = kwargs.get("debug", self.debug) or triton.knobs.runtime.debug
    kwargs["instrumentation_mode"] = ""
    for hook in self.pre_run_hooks:
        _beside(lambda: hook(*args, **kwargs))
    compiled_by_key, key_cache, target, backend, binder = self.device_caches[0]
    bound, specialization, options = binder(*args, **kwargs)
    key = compute_cache_key(key_cache, specialization, options)
    compiled = compiled_by_key.get(key)
    if compiled is None:
        options, signature, constexprs, attrs = self._pack_args(backend, kwargs, bound, specialization, options)
        compiled = compiled_by_key[key] = _compile(self, target, backend, options, signature, constexprs, attrs)
        compiled.specialization = specialization
    _check_globals(self)
    if not warmup:
        _launch(compiled, _grid(grid, bound), bound)
    return compiled


def _check_globals(function: JITFunction) -> None:
    missing = object()
    for (name, _), (value, scope) in function.used_global_vals.items():
        if (now := scope.get(name, missing)) != value:
            raise RuntimeError(
                f"Global variable {name} has changed since we compiled this kernel, from {value} to {now}"
            )


@functools.cache
def _context() -> ir.context:
    """One MLIR context for all kernels; a forked child inherits it with the dialects loaded."""
    context = ir.context()
    ir.load_dialects(context)
    make_backend(triton.runtime.driver.active.get_current_target()).load_dialects(context)
    return context


def _check_options(options: Any) -> None:
    """What no GPU launches is refused as Triton refuses it there: an autotuned kernel leaves such a variant out."""
    if (threads := options.num_warps * options.warp_size) > _MAX_THREADS:
        raise OutOfResources(threads, _MAX_THREADS, "threads")
    for name, (least, most) in _OPTION_RANGES.items():
        value = getattr(options, name)
        if value is not None and not least <= value <= most:
            raise RuntimeError(f"the launch option {name}={value} is not between {least} and {most}")
    if options.num_ctas & (options.num_ctas - 1):
        raise RuntimeError(f"the launch option num_ctas={options.num_ctas} is no power of 2")


def _compile(function: JITFunction, target: GPUTarget, backend: Any, options: Any, signature: dict, constexprs: dict,
             attrs: dict) -> CompiledKernel:  # fmt: skip
    for name, default in _NO_OTHER_OPTION.items():
        if getattr(options, name) != default:
            reject("launch_option", f"the launch option {name} is not part of a Plan")
    _check_options(options)
    source = ASTSource(function, signature, constexprs, attrs)
    context = _context()
    stages: dict[str, Any] = {}
    # Plans keep tensor descriptors; what compiles for a GPU that has none makes pointers of them.
    arch = f"sm{max(target.arch, 90)}"
    backend.add_stages(stages, replace(options, arch=arch), source.language)
    try:
        function.cache_key  # Triton's own check of what the kernel refers to
        codegen = backend.get_codegen_implementation(options)
        with front_end.quietly():
            module = source.make_ir(target, options, codegen, backend.get_module_map(), context)
        text = str(stages["ttir"](module, {}))
    except Exception as error:
        raise CompileError(function, error) from error
    shared = launch_memory.shared_memory(module, text, target, options)
    text = _SITE.sub('loc("', text)
    chosen = {name: getattr(options, name) for name in _PLAN_OPTIONS}
    chosen |= {name: getattr(options, name) for name, usual in _PLAN_FLAGS.items() if getattr(options, name) != usual}
    helpers = _jit_functions(constexprs.values())
    return CompiledKernel(function, text, chosen, signature, helpers, shared, asm={"ttir": text})


def _jit_functions(values: Iterable[Any]) -> tuple[str, ...]:
    found: list[str] = []
    for value in values:
        value = getattr(value, "value", value) if isinstance(value, triton.language.constexpr) else value
        if isinstance(value, JITFunction):
            found.append(value.__name__)
        elif isinstance(value, (tuple, list)):
            found += _jit_functions(value)
    return tuple(found)


def _grid(grid: Any, bound: dict[str, Any]) -> list[int]:
    if grid is None:
        raise AssertionError("a kernel is launched with kernel[grid](…)")
    if callable(grid):
        function = grid
        grid = _beside(lambda: function(bound))
    sizes = [_integer(size) for size in (grid[i] if i < len(grid) else 1 for i in range(3))]
    for size, limit in zip(sizes, _MAX_GRID):
        if not 0 <= size <= limit:
            raise RuntimeError(f"Triton Error [CUDA]: invalid argument (grid {tuple(sizes)}, at most {_MAX_GRID})")
    return sizes


def _integer(size: Any) -> int:
    if not hasattr(size, "__index__"):
        raise TypeError(f"'{type(size).__name__}' object cannot be interpreted as an integer")
    return size.__index__()


def _launch(compiled: CompiledKernel, grid: list[int], bound: dict[str, Any]) -> None:
    launch_memory.check(compiled)
    args: list[Any] = []
    for position, (name, kind) in enumerate(compiled.signature.items()):
        _encode_argument(kind, bound[name], name, position, args)
    call = [[name, _encode_call_value(value, name)] for name, value in bound.items()]
    variant = {"kernel": compiled, "grid": grid, "args": args, "call": call}
    if _variants is not None:
        _variants.append(variant)
    else:
        _write([variant])


def _write(variants: list[dict[str, Any]]) -> None:
    recording = current()
    uses: list[int] = []
    for variant in variants:
        for arg in variant["args"]:
            if isinstance(arg, dict):
                uses.append(int(arg["ptr"] if "ptr" in arg else arg["desc"]["t"]))
    storages = recording.tape.storages_of(uses)
    recording.tape.steps.append(Step([], uses, storages, set(storages), recording.line(), variants=variants))


def _encode_argument(kind: Any, value: Any, name: str, position: int, args: list[Any]) -> None:
    """Appends what stands for one Python argument among the parameters of the TTIR function."""
    if isinstance(kind, tuple):
        for part, item in zip(kind, value):
            _encode_argument(part, item, name, position, args)
    elif kind == "constexpr":
        return
    elif kind.startswith("tensordesc"):
        base = _cuda_tensor(value.base, position)
        args.append({"desc": {
            "t": base, "shape": [int(n) for n in value.shape], "strides": [int(n) for n in value.strides],
            "block": [int(n) for n in value.block_shape], "padding": value.padding,
        }})  # fmt: skip
    elif kind.startswith("*"):
        args.append({"ptr": _cuda_tensor(value, position)})
    elif isinstance(value, (bool, float)):
        args.append(int(value) if isinstance(value, bool) else value)
    else:
        args.append(_scalar(kind, value, name))


def _scalar(kind: str, value: Any, name: str) -> int | float:
    if kind.startswith(("fp", "bf", "f")):
        return float(value)
    number = int(value)
    if number >= ADDRESS_BASE and kind in ("i64", "u64"):
        reject("raw_pointer", f"the kernel argument {name} is the address of a tensor; pass the tensor itself")
    return number - (1 << 64) if number >= 1 << 63 else number


def _cuda_tensor(value: Any, position: int) -> Tid:
    value = getattr(value, "base", value) if not isinstance(value, torch.Tensor) else value  # triton.reinterpret
    if not isinstance(value, RecordingTensor) or not value.is_cuda:
        raise ValueError(f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?)")
    return Tid(value.tid)


def _encode_call_value(value: Any, name: str) -> Any:
    value = getattr(value, "value", value) if isinstance(value, triton.language.constexpr) else value
    if isinstance(value, RecordingTensor):
        return {"t": Tid(value.tid)}
    if isinstance(value, (bool, float, str)) or value is None:
        return value
    if isinstance(value, (tuple, list)):
        return [_encode_call_value(item, name) for item in value]
    if isinstance(value, triton.language.dtype) and value.name in _SUFFIX_DTYPES:
        return {"dtype": _SUFFIX_DTYPES[value.name]}
    if isinstance(value, JITFunction):
        return {"function": value.__name__}
    if hasattr(value, "__index__"):
        number = value.__index__()
        if -(1 << 63) <= number < 1 << 63:
            return number
    if isinstance(base := getattr(value, "base", None), RecordingTensor):  # TensorDescriptor, triton.reinterpret
        return {"t": Tid(base.tid)}
    reject("argument", f"the kernel argument {name} is a {type(value).__name__}, which a Plan cannot hold")


def _run_autotuned(self: Autotuner, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
    """Takes the place of Autotuner.run: one launch with all variants; the timer chooses, not the program."""
    global _variants, _steps_beside
    self.nargs = dict(zip(self.arg_names, args))
    configs = self.configs
    if len(configs) > 1:
        configs = self.prune_configs(kwargs)
        _reset_first_time(self, kwargs)
    outer, found, outer_beside = _variants, [], _steps_beside
    result = error = None
    try:
        _variants, _steps_beside = found, []
        for config in configs:
            if conflicts := kwargs.keys() & config.kwargs.keys():
                raise ValueError(f"Conflicting meta-parameters: {', '.join(conflicts)}."
                                 " Make sure that you don't re-define auto-tuned symbols.")  # fmt: skip
            chosen = {**kwargs, **config.all_kwargs()}
            if config.pre_hook is not None:
                arguments = {**self.nargs, **chosen}
                _beside(lambda: config.pre_hook(arguments))
            try:
                result = self.fn.run(*args, grid=grid, warmup=warmup, **chosen)
            except (CompileError, OutOfResources) as failed:
                if isinstance(failed, CompileError) and not isinstance(failed.cause, CompileTimeAssertionFailure):
                    raise
                error = failed  # Triton leaves such a variant out
    finally:
        _variants, _steps_beside = outer, outer_beside
        self.nargs = None
    if not found and error is not None:
        raise error
    if outer is not None:
        outer.extend(found)
    elif found:
        _write(found)
    return result


def _reset_first_time(tuner: Autotuner, kwargs: dict[str, Any]) -> None:
    """reset_to_zero as in Triton: the tensors are zero after tuning, so at the first launch of each key only."""
    everything = {**tuner.nargs, **kwargs}
    named = {name: value for name, value in everything.items() if name in tuner.arg_names}
    key = tuple(named[name] for name in tuner.keys if name in named)
    key += tuple(str(value.dtype) for value in named.values() if hasattr(value, "dtype"))
    if key not in tuner.cache:
        tuner.cache[key] = tuner.configs[0]
        tuner.pre_hook(everything, reset_only=True)


def _beside(call: Callable[[], Any]) -> Any:
    """Runs a hook or grid function, maybe of one variant. Its steps stand before the launch, equal ones of several
    variants once; launches among them are steps of their own, not variants."""
    global _variants
    if _variants is None:
        return call()
    steps = current().tape.steps
    mark = len(steps)
    outer, _variants = _variants, None
    try:
        result = call()
    finally:
        _variants = outer
    added = steps[mark:]
    del steps[mark:]
    for step in added:
        if not any(_does_again(step, earlier) for earlier in _steps_beside):
            steps.append(step)
            _steps_beside.append(step)
    return result


def _does_again(step: Step, earlier: Step) -> bool:
    """Both do the same, and make nothing that a later step could be given."""
    makes = any(out not in step.uses for out in step.outs) or step.data is not None
    did = (earlier.function, earlier.args, earlier.kwargs, earlier.variants)
    return not makes and (step.function, step.args, step.kwargs, step.variants) == did
