"""Times torch.compile and eager PyTorch of one reference file; prints one JSON object (docs/formats/worker.md).

    python compiled_baseline.py FILE ENTRY --seed N [--function] [--wait] [--device cpu] …

The file is the user's own and runs here with real tensors and no jail; a candidate's code never does. The clock is the
one that times candidates (clock.py), the GPU is shared with other processes by turns (gpu_turn.py): work is done under
a shared turn, compiling without one, timing alone. C++ side: src/judge/compiled_baseline.cc.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from clock import CpuClock, CudaClock, Options, interleave
from gpu_turn import GpuTurn

IEEE, PYTORCH, TF32 = "ieee", "pytorch", "tf32"  # contracts, as src/base/fp32_precision.h has them
EAGER = {IEEE: "eager fp32", PYTORCH: "eager pytorch", TF32: "eager tf32"}
COMPILED = "torch.compile"
_CLOSE = 1e-2  # of the output's largest magnitude; a guard against a wrong program, not a verdict
_WARM_UPS = 3  # calls before a capture: libraries choose algorithms, kernels are tuned and loaded
_MAX_ERROR_CHARACTERS = 2000


class Reference:
    """A reference file, loaded as KernelBench does: a class with get_init_inputs, or a plain function."""

    def __init__(self, path: str, entry: str, is_function: bool) -> None:
        spec = importlib.util.spec_from_file_location("reference", path)
        self._module = importlib.util.module_from_spec(spec)
        sys.modules["reference"] = self._module
        spec.loader.exec_module(self._module)
        self._entry = getattr(self._module, entry)
        self._is_function = is_function

    def inputs(self, seed: int, device: str) -> list[Any]:
        """What get_inputs() returns, drawn on the device where the file leaves that open."""
        made = _seeded(self._module.get_inputs, seed, device)
        return list(to_device(device, [made] if isinstance(made, torch.Tensor) else made))

    def callee(self, seed: int, device: str) -> Callable[..., Any]:
        if self._is_function:
            return self._entry
        make = getattr(self._module, "get_init_inputs", list)
        return _seeded(lambda: self._entry(*to_device(device, make())), seed, device).to(device)


class State:
    """What calls start from: their arguments, and tensors that modules hold as plain attributes, like a hidden state.

    What a program changes in the arguments is put back before the next call. An attribute that it replaces is put back
    by the call itself: a captured call would go on reading a tensor that a later call has replaced and freed.
    """

    def __init__(self, callee: Callable[..., Any], arguments: list[Any]) -> None:
        tensors = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
        modules = callee.modules() if isinstance(callee, torch.nn.Module) else ()
        self._arguments = arguments
        self._contents = [(tensor, tensor.clone()) for tensor in tensors]
        self._attributes = [
            (vars(module), name, value)
            for module in modules
            for name, value in vars(module).items()
            if isinstance(value, torch.Tensor)
        ]

    def call(self, callee: Callable[..., Any]) -> Any:
        for attributes, name, value in self._attributes:
            attributes[name] = value
        return callee(*self._arguments)

    def keep_changed(self) -> None:
        """After a first call: what it left alone needs no care."""
        self._contents = [(tensor, copy) for tensor, copy in self._contents if not torch.equal(tensor, copy)]
        self._attributes = [kept for kept in self._attributes if kept[0][kept[1]] is not kept[2]]
        self.restore()

    def restore(self) -> None:
        for tensor, copy in self._contents:
            tensor.copy_(copy)


class Program:
    """What is timed: one call with the inputs in place, plain and, where that is possible, as a CUDA graph."""

    def __init__(self, name: str, run: Callable[[], Any]) -> None:
        self.name = name
        self.run = run
        self.graph: torch.cuda.CUDAGraph | None = None

    def capture(self, pool: Any) -> None:
        """Leaves `graph` empty where the program cannot be captured. Nobody reads the answers of replays, so programs
        that never run at once share a pool of memory."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                self.run()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=pool):
                self.run()
        except Exception:  # it waits for the GPU in the middle, or allocates behind PyTorch's back
            torch.cuda.synchronize()
            return
        self.graph = graph


def time_programs(programs: list[Program], state: State, options: Options, device: str) -> dict[str, Any]:
    """Times by name: {"graph": … or None, "plain": …}. The one that counts is the graph, where all have one."""
    clock = CudaClock() if device == "cuda" else CpuClock()

    def measured(runs: list[Callable[[], Any]], options: Options, by_graph: bool) -> dict[str, Any]:
        def take_sample(i: int) -> float:
            state.restore()
            return clock.sample(runs[i], head_start=by_graph)

        timings = interleave(len(runs), options, take_sample)
        return {program.name: timing.to_json() for program, timing in zip(programs, timings)}

    plain = [program.run for program in programs]
    graphs = [program.graph.replay for program in programs if program.graph]
    if len(graphs) < len(programs):
        return {"graph": None, "plain": measured(plain, options, by_graph=False)}
    return {
        "graph": measured(graphs, options, by_graph=True),
        "plain": measured(plain, options.brief(), by_graph=False),
    }


def difference(expected: Any, got: Any) -> str | None:
    """What is wrong with an answer, None when nothing is."""
    ours, theirs = tree_leaves(expected), tree_leaves(got)
    if len(ours) != len(theirs):
        return f"{len(theirs)} outputs instead of {len(ours)}"
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if not isinstance(a, torch.Tensor):
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {i} is {b.dtype} {list(b.shape)} instead of {a.dtype} {list(a.shape)}"
        if a.is_floating_point() or a.is_complex():
            error = (a - b).abs().nan_to_num_(posinf=0).max().item() if a.numel() else 0.0
            scale = a.abs().nan_to_num_(posinf=0).max().item() if a.numel() else 0.0
            same_places = torch.equal(a.isfinite(), b.isfinite())
            if not same_places or error > _CLOSE * scale:
                return f"output {i} is off by {error:.3g} where the largest value is {scale:.3g}"
        elif not torch.equal(a, b):
            return f"output {i} differs"
    return None


def compare(eager: Callable[[], Any], compiled: Callable[[], Any], state: State, seed: int) -> str | None:
    """How the compiled program's answer differs from the eager one's, if it does."""

    def answer(run: Callable[[], Any], seed: int) -> Any:
        state.restore()
        torch.manual_seed(seed)
        return tree_map_only(torch.Tensor, torch.clone, run())

    expected = answer(eager, seed)
    if difference(expected, answer(eager, seed + 1)):
        return "the program draws random numbers, so the answers were not compared"
    return difference(expected, answer(compiled, seed))


def set_precision(contract: str) -> None:
    """What libraries may compute products of float32 in."""
    torch.backends.cuda.matmul.allow_tf32 = contract == TF32
    torch.backends.cudnn.allow_tf32 = contract != IEEE


def eager_name() -> str:
    if torch.backends.cuda.matmul.allow_tf32:
        return EAGER[TF32]
    return EAGER[PYTORCH if torch.backends.cudnn.allow_tf32 else IEEE]


class Stage:
    """What is being done, for the message of whatever goes wrong."""

    def __init__(self) -> None:
        self.name = "start"

    def __call__(self, name: str) -> None:
        self.name = name

    def failure(self, error: BaseException) -> str:
        text = f"could not {self.name}: {type(error).__name__}: {error}".rstrip(": \n")
        if isinstance(error, torch.OutOfMemoryError):
            text += "\nEager and compiled program need their memory at once."
        return text[:_MAX_ERROR_CHARACTERS]


class NoTurn:
    """Stands in for GpuTurn where there is no GPU."""

    shared = alone = without = staticmethod(contextlib.nullcontext)


def gpu_turn(device: str) -> GpuTurn | NoTurn:
    if device == "cpu":
        return NoTurn()
    uuid = str(torch.cuda.get_device_properties(device).uuid)
    return GpuTurn(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")


def share_gpu_while_compiling(turn: GpuTurn | NoTurn) -> None:
    """From now on the GPU is free for others while Dynamo and Inductor compile, but for their own benchmarks."""
    from torch._dynamo.callback import on_compile_end, on_compile_start
    from torch._inductor.runtime.benchmarking import benchmarker

    pauses = contextlib.ExitStack()
    on_compile_start(lambda _: pauses.enter_context(turn.without()))
    on_compile_end(lambda _: pauses.close())
    benchmark = benchmarker.benchmark_gpu

    def benchmark_in_turn(*args: Any, **kwargs: Any) -> Any:
        with turn.shared():
            return benchmark(*args, **kwargs)

    benchmarker.benchmark_gpu = benchmark_in_turn


def versions(device: str) -> dict[str, Any]:
    import triton

    found = {"torch": torch.__version__, "triton": triton.__version__, "device": device, "driver": None}
    if device == "cuda":
        driver = ctypes.c_int()
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(driver))
        number = driver.value
        found |= {"device": torch.cuda.get_device_name(), "driver": f"{number // 1000}.{number % 1000 // 10}"}
    return found


def prepare_process(device: str, contract: str = IEEE) -> GpuTurn | NoTurn:
    """To be called once, before anything is put on the GPU. Everything on it then happens in a turn."""
    set_precision(contract)
    if device == "cpu":
        torch.set_num_threads(1)
    turn = gpu_turn(device)
    share_gpu_while_compiling(turn)
    return turn


@dataclass
class Ready:
    """Programs of one reference that can be timed."""

    programs: list[Program]
    state: State
    compile_seconds: float
    difference: str | None  # between the compiled and the eager program's answer


def make_ready(reference: Reference, arguments: argparse.Namespace, stage: Stage, with_tf32: bool = False) -> Ready:
    """Makes, compiles, compares and captures. REQUIRES: no_grad and a shared turn."""
    device, seed = arguments.device, arguments.seed
    stage("make model and inputs")
    callee = reference.callee(seed, device)
    state = State(callee, reference.inputs(seed, device))
    eager = Program(eager_name(), lambda: state.call(callee))
    stage("run it in eager PyTorch")
    eager.run()
    state.keep_changed()
    stage("compile it")
    compiled_callee = torch.compile(callee, backend=arguments.backend)
    compiled = Program(COMPILED, lambda: state.call(compiled_callee))
    start = time.monotonic()
    compiled.run()
    compile_seconds = time.monotonic() - start
    stage("compare the answers")
    found = compare(eager.run, compiled.run, state, seed)
    programs = [eager, Program(EAGER[TF32], _in_tf32(eager.run)), compiled] if with_tf32 else [eager, compiled]
    if device == "cuda":
        stage("capture it as a CUDA graph")
        torch.cuda.empty_cache()
        pool = torch.cuda.graph_pool_handle()
        for program in programs:
            program.capture(pool)
        torch.cuda.synchronize()
    return Ready(programs, state, compile_seconds, found)


def measure(reference: Reference, arguments: argparse.Namespace, stage: Stage) -> dict[str, Any]:
    """The whole measurement of a loaded file. REQUIRES: nothing was put on the GPU yet."""
    stage("use the GPU")
    turn = prepare_process(arguments.device, arguments.fp32_precision)
    options = Options(min_samples=arguments.samples, budget_seconds=arguments.seconds)
    with torch.no_grad(), turn.shared():
        ready = make_ready(reference, arguments, stage)
        stage("time it")
        with turn.alone():
            times = time_programs(ready.programs, ready.state, options, arguments.device)
    return {
        **versions(arguments.device),
        **times,
        "eager": eager_name(),
        "compile_seconds": ready.compile_seconds,
        "difference": ready.difference,
    }


def _in_tf32(run: Callable[[], Any]) -> Callable[[], Any]:
    def run_in_tf32() -> Any:
        set_precision(TF32)
        try:
            return run()
        finally:
            set_precision(IEEE)

    return run_in_tf32


def _seeded(make: Callable[[], Any], seed: int, device: str) -> Any:
    """Made on the device, in a moment; on the CPU when the program does not work that way."""
    for where in (device, "cpu"):
        torch.manual_seed(seed)
        try:
            with torch.device(where):
                return make()
        except Exception:
            if where == "cpu":
                raise
    raise AssertionError("not reached")


def to_device(device: str, value: Any) -> Any:
    """All tensors of a nested value."""
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), value)


@contextlib.contextmanager
def _stdout_kept() -> Iterator[Any]:
    """The real stdout for our one answer; whatever else is printed meanwhile, by anybody, goes to stderr."""
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        yield answers


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("entry")
    parser.add_argument("--function", action="store_true", help="ENTRY is a plain function, no class")
    parser.add_argument("--fp32-precision", choices=[IEEE, PYTORCH, TF32], default=IEEE, help="of products in float32")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=100, help="of each program, at the least")
    parser.add_argument("--seconds", type=float, default=1.0, help="more are taken in this time where they help")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to rehearse; nothing is captured")
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    parser.add_argument("--cache", help="folder of Inductor's caches")
    parser.add_argument("--wait", action="store_true", help="use the GPU only after a line on stdin; end at its end")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    arguments = _parse(argv)
    if arguments.cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = arguments.cache
    stage = Stage()
    with _stdout_kept() as answers:
        try:
            stage("load the file")
            reference = Reference(arguments.file, arguments.entry, arguments.function)
            if arguments.backend == "inductor":
                import torch._inductor.compile_fx  # noqa: F401  seconds, while others may have the GPU
            if arguments.wait and not sys.stdin.readline():
                return 0
            answer = measure(reference, arguments, stage)
        except Exception as error:
            answer = {"error": stage.failure(error)}
        json.dump(answer, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
