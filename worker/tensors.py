"""Recording tensors: they look like tensors on a CPU or on cuda:0, hold no data, and write every ATen call on a tape.

A recording tensor wraps a meta tensor, which knows sizes, strides and storage, and carries the device it claims. All
work runs below autograd, so that composite operators arrive whole; `operators.py` says which stay whole on the tape.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

import chosen
import complex_pairs
import decompositions
import operators
from copied_views import CopiedViews
from guards import reject
from nested import leaves, map_leaves
from tape import DTYPE_NAMES, Step, Tape, Tid, bytes_of, flatten_results
from wrapper import make_wrapper

_META = torch.device("meta")
_CUDA = torch.device("cuda", 0)
_CPU = torch.device("cpu")
_MAX_CONSTANT_BYTES = 16 << 20

# Made-up addresses: far above every number a program is likely to pass to a kernel, one terabyte or more apart.
ADDRESS_BASE = 1 << 60
_ADDRESS_STEP = 1 << 40


class RecordingTensor(torch.Tensor):
    """A tensor of the program being recorded. `inner`: its meta tensor; `tid`: its id on the tape."""

    inner: torch.Tensor
    tid: int

    @staticmethod
    def __new__(cls, inner: torch.Tensor, tid: int, device: str) -> RecordingTensor:
        self = make_wrapper(cls, inner, inner.dtype, _CUDA if device == "cuda" else _CPU, inner.storage_offset())
        self.inner = inner
        self.tid = tid
        return self

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return current().call(function, args, kwargs or {})

    def data_ptr(self) -> int:
        storage = current().tape.tensors[self.tid].storage
        return ADDRESS_BASE + storage * _ADDRESS_STEP + self.storage_offset() * self.element_size()

    def is_inference(self) -> bool:
        return self.inner.is_inference()

    @property
    def data(self) -> torch.Tensor:
        return self.detach()

    @data.setter
    def data(self, new: torch.Tensor) -> None:
        current().assign(self, new)

    def __deepcopy__(self, memo: dict) -> torch.Tensor:
        if id(self) not in memo:
            copy = self.detach().clone().requires_grad_(self.requires_grad)
            for name, value in self.__dict__.items():  # being a Parameter is such an attribute
                copy.__dict__.setdefault(name, value)
            memo[id(self)] = copy
        return memo[id(self)]

    def numpy(self, *, force: bool = False) -> Any:
        return read(self, "numpy()").numpy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = read(self, "a conversion to numpy").numpy()
        return array if dtype is None else array.astype(dtype)

    def tolist(self) -> Any:
        return read(self, "tolist()").tolist()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(read(self, "printing a tensor"))

    def __format__(self, spec: str) -> str:
        return format(read(self, "printing a tensor"), spec)

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        reject(
            "host_read", "the program hands a tensor to another library (DLPack); only PyTorch and Triton may read it"
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        reject("file", "the program saves a tensor; there are no files here and tensors hold no data")

    def record_stream(self, stream: Any) -> None:
        """Nothing to do: there is one stream."""

    def share_memory_(self) -> RecordingTensor:
        return self


class Recording(TorchDispatchMode):
    """The dispatch mode that is on while a program runs; owns the tape."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.tape = Tape()
        self.file = file
        self.split: set[str] = set()  # base names of operators that are recorded as their parts
        self.copies = CopiedViews()
        self.chooses = False  # whether anything has been selected by a mask

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch would import its compiler, for seconds

    def __enter__(self) -> Recording:
        _stack.append(self)
        return super().__enter__()

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        _stack.pop()

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return self.call(function, args, kwargs or {})

    def line(self) -> int:
        """The innermost line of the program's file that is being run, 0 when there is none."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def call(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Runs one operator: by its own rule, by its parts, or as one step."""
        if self.chooses and chosen.concerns(args, kwargs):
            return chosen.run(self, function, args, kwargs)
        if self.split and complex_pairs.concerns(function, args, kwargs):
            return complex_pairs.run(self, function, args, kwargs)
        traits = operators.traits_of(function)
        if traits.special is not None:
            return traits.special(self, function, args, kwargs)
        if traits.parts is not None:
            with self:
                return traits.parts(*args, **kwargs)
        return self.parts_or_step(function, args, kwargs)

    def parts_or_step(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if self.split and (base := decompositions.base_name(function.name())) in self.split:
            result = self._in_parts(base, function, args, kwargs)
            if result is not NotImplemented:
                return result
        return self.step(function, args, kwargs)

    def _in_parts(self, base: str, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The calls that an operator is made of; among them, one of its own name stays whole."""
        parts = decompositions.parts_of(function)
        if parts is None:
            return NotImplemented
        self.split.remove(base)
        try:
            with self:
                result = parts(*args, **kwargs)
        finally:
            self.split.add(base)
        if operators.traits_of(function).view and isinstance(result, RecordingTensor):
            self.copies.made(self._storage(result), self._storage(args[0]))
        return result

    def _storage(self, tensor: RecordingTensor) -> int:
        return self.tape.tensors[tensor.tid].storage

    def step(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Runs one operator on the meta tensors and writes it on the tape."""
        call = _Call(self, operators.traits_of(function))
        if call.stays_real(args, kwargs):
            return function(*args, **kwargs)
        args, kwargs = call.prepare(args, kwargs)
        device = call.device(kwargs)
        if call.traits.dynamic:
            return self._known_result(function, args, kwargs, device)
        result = call.traits.infer(*call.inner(args), **call.inner(kwargs))
        return call.finish(function, args, kwargs, result, device)

    def _known_result(self, function: Any, args: tuple, kwargs: dict[str, Any], device: str, instead: str = "") -> Any:
        """A result whose size depends on values: possible only when the values are in the program's text."""
        instead = instead or "use masks or fixed sizes instead"
        message = f"{function.name()} makes a tensor whose size depends on values; {instead}"
        real = _map(lambda t: value_of(t, message, rule="dynamic_shape"), args)
        if "device" in kwargs:
            kwargs["device"] = _CPU
        return _map(lambda t: self.constant(t, device), function(*real, **kwargs), kind=torch.Tensor)

    def wrap(self, inner: torch.Tensor, device: str) -> RecordingTensor:
        """A recording tensor with an id of its own for a meta tensor."""
        if inner.dtype not in DTYPE_NAMES:
            reject("dtype", f"tensors of {inner.dtype} are not supported")
        return RecordingTensor(inner, self.tape.add_tensor(inner, device), device)

    def input(self, dtype: torch.dtype, sizes: Any, strides: Any, device: str) -> RecordingTensor:
        """A tensor that no step makes."""
        with no_dispatch():
            inner = torch.empty_strided(sizes, strides, dtype=dtype, device=_META)
        tensor = self.wrap(inner, device)
        self.tape.given.add(self.tape.tensors[tensor.tid].storage)
        return tensor

    def constant(self, value: torch.Tensor, device: str = "cpu") -> RecordingTensor:
        """A tensor whose values stand in the program's text."""
        if value.numel() * value.element_size() > _MAX_CONSTANT_BYTES:
            reject(
                "constant_size",
                f"a tensor of {value.numel() * value.element_size() >> 20} MB comes from Python data; at most "
                f"{_MAX_CONSTANT_BYTES >> 20} MB may: make it with torch.rand, torch.arange and the like",
            )
        with no_dispatch():
            inner = torch.empty(value.shape, dtype=value.dtype, device=_META)
            data = bytes_of(value)
            addresses = (
                value.dtype in (torch.int64, torch.uint64) and (value.view(torch.int64) >= ADDRESS_BASE).any().item()
            )
        if addresses:
            reject("raw_pointer", "the program puts addresses of tensors into a tensor; pass the tensors themselves")
        tensor = self.wrap(inner, "cpu")
        storage = self.tape.tensors[tensor.tid].storage
        self.tape.steps.append(Step([tensor.tid], [], set(), {storage}, self.line(), data=data))
        return tensor if device == "cpu" else tensor.to(_CUDA)

    def assign(self, target: RecordingTensor, new: torch.Tensor) -> None:
        """`target.data = new`: the Python object names another value from now on."""
        if not isinstance(new, RecordingTensor):
            new = self.constant(new)
        info = self.tape.tensors[new.tid]
        bare = RecordingTensor(new.inner, new.tid, info.device)  # an object that no one else holds
        torch._C.TensorBase.data.__set__(target, bare)
        target.inner, target.tid = new.inner, new.tid


class _Call:
    """The work of writing one operator call on the tape."""

    def __init__(self, recording: Recording, traits: operators.Traits) -> None:
        self.recording = recording
        self.tape = recording.tape
        self.traits = traits
        self.tensors: list[RecordingTensor] = []  # arguments, in order
        self.by_inner: dict[int, RecordingTensor] = {}

    def stays_real(self, args: tuple, kwargs: dict[str, Any]) -> bool:
        """Whether this is a view of Python data that has not met the program yet (torch.frombuffer(…).view(…))."""
        if not self.traits.view:
            return False
        found = leaves((args, kwargs), torch.Tensor)
        return bool(found) and not any(isinstance(tensor, RecordingTensor) for tensor in found)

    def prepare(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Arguments with recording tensors only, and without what has no meaning in a Plan."""
        kwargs = {
            name: value for name, value in kwargs.items() if name not in ("pin_memory", "non_blocking", "generator")
        }
        if kwargs.get("layout") is torch.strided:
            del kwargs["layout"]
        if "generator" in self.traits.name.partition(".")[2]:  # randint.low_generator, not affine_grid_generator
            kwargs["generator"] = None  # these overloads insist on the argument
        args = _map(self._take, _map(self._number, args, kind=complex), kind=torch.Tensor)
        return args, {name: _map(self._take, value, kind=torch.Tensor) for name, value in kwargs.items()}

    def _number(self, number: complex) -> torch.Tensor:
        """A Plan has no complex numbers among its arguments; a tensor without dimensions stands for one."""
        return torch.tensor(number, dtype=torch.complex64)

    def _take(self, tensor: torch.Tensor) -> RecordingTensor:
        if not isinstance(tensor, RecordingTensor):
            tensor = self.recording.constant(tensor)
        self.tensors.append(tensor)
        self.by_inner[id(tensor.inner)] = tensor
        return tensor

    def device(self, kwargs: dict[str, Any]) -> str:
        """The device of the results. Raises what PyTorch raises when tensors of two devices meet."""
        asked = kwargs.get("device")
        common = None
        for tensor in self.tensors:
            kind = self.tape.tensors[tensor.tid].device
            if self.traits.mixes_devices:
                common = common or kind
            elif kind == "cpu" and tensor.dim() == 0:
                continue
            elif common not in (None, kind):
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
                    f"(when checking arguments of {self.traits.name}); inputs are on the GPU: say device=x.device"
                )
            else:
                common = kind
        return operators.device_kind(torch.device(asked)) if asked is not None else common or "cpu"

    def inner(self, value: Any) -> Any:
        """Arguments for the meta kernel."""
        value = _map(lambda t: t.inner, value)
        if isinstance(value, dict) and value.get("device") is not None:
            value["device"] = _META
        elif isinstance(value, dict) and self.traits.makes and not self.tensors:
            value["device"] = _META
        elif isinstance(value, tuple) and self.traits.device_argument:
            value = tuple(_META if isinstance(item, torch.device) else item for item in value)
        return value

    def finish(self, function: Any, args: tuple, kwargs: dict[str, Any], result: Any, device: str) -> Any:
        """Wraps the results and writes the step, unless a view shows exactly what its base shows."""
        uses = [t.tid for t in self.tensors]
        owned = {self.tape.tensors[tid].storage for tid in uses}
        first_new = len(self.tape.tensors)
        wrapped = _map(lambda t: self._wrap_result(t, device), result, kind=torch.Tensor)
        outs = [t.tid if isinstance(t, torch.Tensor) else -1 for t in flatten_results(wrapped)]
        alone = self.traits.view and isinstance(wrapped, torch.Tensor)
        if alone and self.tape.tensors[outs[0]] == self.tape.tensors[uses[0]]:
            wrapped.tid = uses[0]  # the very value it was taken from: no step
            return wrapped
        writes = {self.tape.tensors[t.tid].storage for t in self.written(args, kwargs)}
        self.recording.copies.check(owned, writes)
        writes |= self.tape.storages_of(out for out in outs if out >= first_new) - owned
        if self.traits.makes and not self.tensors and kwargs.get("dtype") is None:
            kwargs["dtype"] = wrapped.dtype  # explicit: torch.set_default_dtype does not travel
        to_tid = lambda t: Tid(t.tid)
        args, kwargs = _map(to_tid, args), {name: _map(to_tid, value) for name, value in kwargs.items()}
        self.tape.steps.append(Step(outs, uses, owned, writes, self.recording.line(), function, args, kwargs))
        return wrapped

    def _wrap_result(self, inner: torch.Tensor, device: str) -> torch.Tensor:
        known = self.by_inner.get(id(inner))
        if known is None:
            return self.recording.wrap(inner, device)
        if known.shape != inner.shape or known.stride() != inner.stride():
            reject("resize", f"{self.traits.name} resizes a tensor in place; allocate it with its final size")
        return known

    def written(self, args: tuple, kwargs: dict[str, Any]) -> list[RecordingTensor]:
        found: list[RecordingTensor] = []
        for index in self.traits.written_args:
            if index < len(args):
                _map(found.append, args[index])
        for name in self.traits.written_kwargs:
            if name in kwargs:
                _map(found.append, kwargs[name])
        _map(found.append, self.traits.written_unsaid(args))
        return found


def _map(function: Any, value: Any, kind: type = RecordingTensor) -> Any:
    return map_leaves(function, value, kind)


_stack: list[Recording] = []


def current() -> Recording:
    """The recording that is on."""
    return _stack[-1]


def read(tensor: torch.Tensor, what: str) -> torch.Tensor:
    """The value of a tensor that the program reads on the host."""
    return value_of(
        tensor, f"{what} reads values on the host, so what runs would depend on data; keep them on the device"
    )


def value_of(tensor: torch.Tensor, message: str, rule: str = "host_read") -> torch.Tensor:
    """The real value of a tensor, when the program's text alone decides it; otherwise the program is rejected."""
    if not isinstance(tensor, RecordingTensor):
        return tensor
    tape = current().tape
    with no_dispatch():
        value = tape.evaluate(tensor.tid, may_draw=True)
    if value is None and tape.draws_are_readable:
        message = "get_inputs() reads values that are too many, drawn in place or not drawn there; make them in Python"
    if value is None:
        reject(rule, message)
    return value


def recording_is_on() -> bool:
    return bool(_stack)
