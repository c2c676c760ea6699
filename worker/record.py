"""Records one program: runs its file with recording tensors and a recording Triton driver, and writes the Plan.

`warm_up()` once per process, then `record(request)` in a child forked from it. Formats: docs/formats/worker.md and
plan.md. This module runs code by anybody; it holds no data, no reference and no seed, and the jail around it is
what keeps the program in.

How the parts fit: `tensors` and `operators` put ATen calls on the `tape`, `triton_driver` puts launches there,
`cuda_api`, `numpy_bridge` and `guards` answer or refuse the rest, `meta_kernels` makes it fast, `plan` and `kernels`
write the Plan, `failures` says why there is none.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import itertools
import linecache
import os
import random
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy
import torch

import chosen
import compiled
import complex_pairs
import cuda_api
import failures
import front_end
import guards
import meta_kernels
import numpy_bridge
import stand_ins
import triton_driver
from arguments import Sequence, as_list, copied, described, map_arguments, object_of, to_cuda
from changes import Settings
from decompositions import base_name
from kernels import SourceFile
from packing import Packing
from plan import RUN, Call, Phases, PlanWriter, tensor_leaves
from rebinding import as_updates
from tape import DTYPE_NAMES, Step
from tensors import Recording, RecordingTensor

_CALLS = 3
_MOST_NAMES = 8  # of a file, in a message
_WARM_UP_ROUNDS = 4  # until the interpreter has specialised what every recording runs through
_DTYPES = {name: dtype for dtype, name in DTYPE_NAMES.items()}

_kept: list[Any] = []  # of the program of `warm_up`
_WARM_UP = """
import torch, torch.nn as nn, torch.nn.functional as F, triton, triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    s = tl.sum(v, 0) + tl.max(v, 0)
    tl.store(y + i, libdevice.tanh(tl.sigmoid(v)) + s, mask=i < n)

@triton.jit
def product(a, b, c, K, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        acc += tl.dot(tl.load(a + i[:, None] * K + k + i[None, :]), tl.load(b + (k + i)[:, None] * B + i[None, :]))
    tl.store(c + i[:, None] * B + i[None, :], acc)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.conv, self.norm = nn.Linear(32, 32), nn.Conv2d(1, 1, 3, padding=1), nn.BatchNorm2d(1)

    def forward(self, x):
        y, z = torch.empty_like(x), torch.empty(32, 32, device=x.device)
        kernel[lambda m: (triton.cdiv(x.numel(), m["B"]),)](x, y, x.numel(), B=1024)
        product[(1,)](x, y, z, 32, B=32)
        h = F.layer_norm(self.linear(torch.matmul(x, z.t())), (32,)).softmax(-1) * 2.0
        return self.norm(self.conv(h[None, None])).sum()
"""


def warm_up(capability: tuple[int, int] = (9, 0)) -> None:
    """Puts every patch in place and runs one small program, so that a forked child imports and compiles nothing twice.

    Changes torch and triton for the whole process, for good.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # before torch looks: even where there is a GPU, none is touched
    torch._C._ensureCUDADeviceGuardSet()  # C++ code that switches devices does nothing
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    torch.nn.RNNBase.flatten_parameters = lambda self: None  # cuDNN's weight layout; nothing to see on the tape
    torch.distributions.Distribution.set_default_validate_args(False)  # its checks read values
    torch.nn.utils.parametrizations._is_orthogonal = lambda q, eps=None: False  # it is made so then, which changes none
    torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(…, device="cuda"): the copy to the device is a step
    stand_ins.install()
    meta_kernels.install()
    guards.install()
    compiled.install()
    numpy_bridge.install()
    cuda_api.install(capability)
    triton_driver.install(capability)
    inputs = [{"tensor": ["float32", [32, 32], [32, 1]]}]
    request = {"role": "candidate", "source": _WARM_UP, "entry": "Model", "kind": "class", "init_inputs": []}
    for _ in range(_WARM_UP_ROUNDS):
        reply = record({**request, "inputs": inputs, "capability": list(capability)})
        if not reply["ok"]:
            raise RuntimeError(f"the recorder does not work with this PyTorch and Triton: {reply}")
    # The next program takes their places; to free them there would be a write to hundreds of shared pages.
    _kept.extend([front_end.source_file, sys.modules["candidate"], linecache.cache["candidate.py"]])


def record(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request. Never raises for what the program does."""
    if "together" in request:
        return {"replies": _record_together(request["together"])}
    return _record(_Program(request))


def _record_together(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replies as far as there is anything to record: candidates that name no inputs get those of the reference before them."""
    replies: list[dict[str, Any]] = []
    inputs: dict[str, Any] = {}
    for request in requests:
        program = _Program({**inputs, **request})
        replies.append(_record(program))
        if request["role"] == "reference":
            if not replies[-1]["ok"]:
                break
            inputs = program.inputs()
    return replies


def _record(program: "_Program") -> dict[str, Any]:
    request, file = program.request, program.file
    try:
        program.compile()
        with guards.watching(request["role"] == "reference"):
            phases = program.run()
            if breach := guards.swallowed():
                raise breach
        plan = PlanWriter(program.recording.tape, program.source, program.module).plan(request["role"], phases)
        return {"ok": True, "plan": plan}
    except BaseException as error:  # also SystemExit and KeyboardInterrupt: a program's end is not ours
        return failures.reply(error, file, program.module)


class _Program:
    """One program on its way through import, constructor, move to the device and three calls."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.file = f"{request['role']}.py"
        self.recording = Recording(self.file)
        self.module: ModuleType | None = None
        self.generated: list[Any] | None = None  # what get_inputs() returned
        self.phases = Phases()

    def compile(self) -> None:
        """Apart from `run`, because Python looks for the file when it reports a syntax error."""
        source = self.request["source"]
        linecache.cache[self.file] = (len(source), None, source.splitlines(keepends=True), self.file)
        front_end.source_file = self.source = SourceFile(source, self.file)
        self.code = compile(self.source.tree, self.file, "exec", dont_inherit=True)

    def run(self) -> Phases:
        """Everything from the top level of the file to the third call."""
        capability = tuple(self.request.get("capability", (9, 0)))
        if capability != cuda_api.capability():
            cuda_api.install(capability)
            triton_driver.install(capability)
        random.seed(0)
        numpy.random.seed(0)
        phases = self.phases
        with torch.no_grad(), torch._C._AutoDispatchBelowAutograd(), self.recording:
            with self._recorded() as phases.imported:
                self._load()
            with self._recorded() as phases.generate, self.recording.tape.readable_draws():
                if self.request["role"] == "reference":
                    self._generate(phases)
                else:
                    phases.init_inputs = self._given(self.request.get("init_inputs", []))
            with self._recorded() as phases.setup:
                callee = self._construct(phases)
            with self._in_parts():
                phases.calls = [self._call(index, callee) for index in range(_CALLS)]
            phases.changed += as_updates(self.recording.tape, phases.state + phases.unsaved, phases.calls)
        return phases

    def inputs(self) -> dict[str, Any]:
        """What a reference that was run gave, as a candidate's request has it."""
        given = {"init_inputs": self.phases.init_inputs, "inputs": self.generated}
        return {name: described(values, self.module) for name, values in given.items()}

    @contextlib.contextmanager
    def _recorded(self) -> Iterator[list[Step]]:
        """The list that it gives holds, at the end, the steps that the block left on the tape."""
        steps: list[Step] = []
        mark = len(self.recording.tape.steps)
        yield steps
        steps += self.recording.tape.steps[mark:]

    @contextlib.contextmanager
    def _in_parts(self) -> Iterator[None]:
        """Operators of the request's `split` are recorded as what they are made of."""
        self.recording.split = {base_name(name) for name in self.request.get("split", ())}
        yield
        self.recording.split = set()

    def _load(self) -> None:
        """Runs the top level of the file as a module of its own."""
        module = ModuleType(self.file.removesuffix(".py"))
        module.__file__ = self.file
        module.__builtins__ = builtins
        self.module = sys.modules[module.__name__] = module
        exec(self.code, vars(module))

    def _entry(self, name: str) -> Any:
        found = vars(self.module).get(name)
        if found is None:
            there = ", ".join(self._defined()) if name == self.request["entry"] else ""
            guards.reject("contract", f"the file does not define {name}" + (f"; it defines {there}" if there else ""))
        return found

    def _defined(self) -> list[str]:
        """The classes and functions that the file may have meant."""
        return [name for name, value in vars(self.module).items()
                if type(value) in (type, FunctionType) and value.__module__ == self.module.__name__
                and name not in ("get_inputs", "get_init_inputs")][:_MOST_NAMES]  # fmt: skip

    def _generate(self, phases: Phases) -> None:
        """KernelBench's file contract: get_init_inputs() may be missing, get_inputs() may not."""
        if callable(vars(self.module).get("get_init_inputs")):
            phases.init_inputs = to_cuda(as_list(self._entry("get_init_inputs")(), "get_init_inputs"))
        self.generated = to_cuda(as_list(self._entry("get_inputs")(), "get_inputs"))
        if any(tensor.is_complex() for tensor in tensor_leaves([phases.init_inputs, self.generated])):
            guards.reject("dtype", "inputs are complex; give torch.view_as_real of them")
        self.generated = map_arguments(functools.partial(self._apart, set()), self.generated)

    def _apart(self, seen: set[int], item: Any) -> Any:
        """An input with memory of its own, laid out alike: trials write into it. Of `q, k = x.unbind(1)` on the device
        both would lie in one, and an expanded tensor has one element for many."""
        if not isinstance(item, RecordingTensor) or item.device.type != "cuda":
            return item
        if any(size > 1 and stride == 0 for size, stride in zip(item.shape, item.stride())):
            return item.clone(memory_format=torch.contiguous_format)
        storage = self.recording.tape.tensors[item.tid].storage
        if item.storage_offset() == 0 and storage not in seen:
            seen.add(storage)
            return item
        return torch.empty_strided(item.shape, item.stride(), dtype=item.dtype, device=item.device).copy_(item)

    def _given(self, descriptors: list[Any]) -> list[Any]:
        """Fresh inputs from descriptors of a request; they lie on the device."""
        return [self._given_value(item) for item in descriptors]

    def _given_value(self, item: Any) -> Any:
        if isinstance(item, dict) and "tensor" in item:
            dtype, sizes, strides = item["tensor"]
            return self.recording.input(_DTYPES[dtype], sizes, strides, "cuda")
        if isinstance(item, dict) and "dtype" in item:
            return _DTYPES[item["dtype"]]
        if isinstance(item, dict) and "device" in item:
            return torch.device(item["device"])
        if isinstance(item, dict):
            name, entries = item["object"] if "object" in item else ("", item["dict"])
            given = {key: self._given_value(entry) for key, entry in entries}
            return object_of(name, given, self.module) if name else given
        return Sequence(self._given(item)) if isinstance(item, (list, tuple)) else item

    def _construct(self, phases: Phases) -> Callable:
        """Makes what is called: the module on the device, or the function itself."""
        entry = self._entry(self.request["entry"])
        if self.request["kind"] == "function":
            if not callable(entry):
                guards.reject("contract", f"{self.request['entry']} is not a function")
            return entry
        if not isinstance(entry, type):
            guards.reject("contract", f"{self.request['entry']} is not a class")
        with self._in_parts():
            module = entry(*phases.init_inputs)
        if not isinstance(module, torch.nn.Module):
            guards.reject("contract", f"{self.request['entry']} is not a torch.nn.Module")
        complex_pairs.make_whole(module)
        module = module.to(torch.device("cuda"))
        if (mode := self.request.get("training")) is not None:
            module.train(mode)
        phases.training = bool(module.training)
        phases.state, phases.unsaved = _state(module)
        tape = self.recording.tape
        tape.given |= tape.storages_of(tensor.tid for _, tensor, _ in phases.state)
        return module

    def _call(self, index: int, callee: Callable) -> Call:
        """One call with inputs of its own. The generated ones go to the call that becomes `run`."""
        tape = self.recording.tape
        mark = len(tape.tensors)
        if self.generated is None:
            inputs = self._given(self.request.get("inputs", []))
        else:
            inputs = copied(self.generated) if index == RUN else self._like(self.generated)
        call = Call(copied(inputs), mark)  # it may change lists, dicts and objects among them
        tape.given |= tape.storages_of(t.tid for t in tensor_leaves(inputs))
        watched = index == RUN and self.request["role"] == "reference"
        before = Settings(callee, self.module, inputs) if watched else None
        with self._recorded() as call.steps:
            self._take_outputs(call, callee(*inputs))
        if self.request["role"] == "reference" and isinstance(callee, torch.nn.Module):
            named = itertools.chain(*(of(remove_duplicate=False) for of in (callee.named_parameters, callee.named_buffers)))
            call.left = {name: tensor.tid for name, tensor in named if isinstance(tensor, RecordingTensor)}
        if before is not None:
            written = {storage for step in call.steps for storage in step.writes}
            after = Settings(callee, self.module, inputs)
            self.phases.changed = after.changed_since(before, written, lambda tid: tape.tensors[tid].storage)
        return call

    def _take_outputs(self, call: Call, result: Any) -> None:
        packing = Packing.of(result, self.module)
        leaves, call.structure, call.packed = packing.leaves, packing.structure, packing.packed
        for leaf in leaves:
            if not isinstance(leaf, (torch.Tensor, int, float, str, type(None))):
                guards.reject(
                    "contract",
                    f"{self.request['entry']} returned a {type(leaf).__name__}, which is not a tensor; "
                    "return tensors, in tuples, lists and dicts",
                )
        if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
            guards.reject(
                "no_output", f"{self.request['entry']} returned {type(result).__name__} without a tensor in it"
            )
        for leaf in leaves:
            if self.recording.chooses and isinstance(leaf, chosen.kind()):
                guards.reject("dynamic_shape", f"{self.request['entry']} returns what a mask selects, whose size depends on "
                              "values; return all of it, and the mask")  # fmt: skip
            if isinstance(leaf, torch.Tensor) and leaf.is_complex():
                name = self.request["entry"]
                guards.reject("dtype", f"{name} returns complex numbers; return torch.view_as_real of them")
            real = isinstance(leaf, torch.Tensor) and not isinstance(leaf, RecordingTensor)
            if real and type(leaf) not in (torch.Tensor, torch.nn.Parameter):
                guards.reject(
                    "contract", f"{self.request['entry']} returned a {type(leaf).__name__}, which is no plain tensor"
                )
            call.outputs.append(self.recording.constant(leaf) if real else leaf)

    def _like(self, value: Any) -> Any:
        """Inputs of the same make as generated ones, with no step that makes them."""
        def fresh(item: Any) -> Any:
            if not isinstance(item, RecordingTensor):
                return item
            return self.recording.input(item.dtype, item.shape, item.stride(), item.device.type)

        return map_arguments(fresh, value)


_State = list[tuple[str, RecordingTensor, str]]


def _state(module: torch.nn.Module) -> tuple[_State, _State]:
    """The module's state by the names of its state dict, and the buffers that are not in it: as they are now, whatever
    the names stand for after a call that says `self.weight.data = packed`."""
    in_dict = set(module.state_dict(keep_vars=True))
    named = [(*item, "parameter") for item in module.named_parameters(remove_duplicate=False)]
    named += [(*item, "buffer") for item in module.named_buffers(remove_duplicate=False)]
    named = [(name, _as_it_is(tensor), kind) for name, tensor, kind in named]
    return [item for item in named if item[0] in in_dict], [item for item in named if item[0] not in in_dict]


def _as_it_is(tensor: RecordingTensor) -> RecordingTensor:
    """Another object for the same value."""
    return RecordingTensor(tensor.inner, tensor.tid, tensor.device.type)
