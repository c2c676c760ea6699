"""How the sample kernels are declared: a kernel, its grid, its arguments, and what to compare afterwards.

    @case(grid=(4,), x=Tensor("fp32", 64), y=Out("fp32", 64), n=50, B=16)
    @triton.jit
    def add_one(x, y, n, B: tl.constexpr): ...

Keywords name the kernel's parameters, in any order. Every kernel stays inside its buffers, writes what it compares, and has no
races, so that any executor of the grid in any order must give the same values. Two readers use the declarations: tools/regen_ttir.py
compiles each case to TTIR, and an oracle run (TRITON_INTERPRET=1) executes it on the CPU.
"""
import dataclasses
import zlib

import numpy
import torch

# Triton's name of an element type → torch's.
DTYPES = {
    "i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
    "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2,
    "fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64,
}
TOLERANCES = {"fp64": 1e-12, "fp32": 1e-5, "fp16": 2e-3, "bf16": 1.6e-2, "fp8e4nv": 0.07, "fp8e5": 0.13}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A pointer argument. fill: "normal", "zeros", (low, high) for whole numbers of that half-open range, or a list."""
    dtype: str
    shape: tuple | int
    fill: object = "normal"
    compare: bool = False

    def make(self, seed):
        shape = (self.shape,) if isinstance(self.shape, int) else self.shape
        rng = numpy.random.default_rng(seed)
        if isinstance(self.fill, list):
            values = torch.tensor(self.fill).reshape(shape)
        elif isinstance(self.fill, tuple):
            values = torch.from_numpy(rng.integers(*self.fill, size=shape, dtype=numpy.int64))
        elif self.fill == "normal":
            values = torch.from_numpy(rng.standard_normal(shape))
        else:
            values = torch.zeros(shape)
        return values.to(DTYPES[self.dtype])


def Out(dtype, shape):
    """Written by the kernel, zero before, compared afterwards."""
    return Tensor(dtype, shape, "zeros", compare=True)


def InOut(dtype, shape, fill="normal"):
    return Tensor(dtype, shape, fill, compare=True)


@dataclasses.dataclass(frozen=True)
class Descriptor:
    """A host tensor descriptor over a tensor."""
    tensor: Tensor
    block: tuple


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    kernel: object
    grid: tuple
    arguments: dict  # parameter name → Tensor, Descriptor, int, float, bool or tuple of these; constexprs excluded
    constants: dict  # constexpr name → value
    options: dict  # num_warps, debug, …
    tolerance: float | None  # relative and absolute; None: by dtype, exact for integers
    no_interpreter: str  # why Triton's interpreter is no oracle here, or ""
    scalar_types: dict  # parameter name → Triton type, where it is not i32 or fp32

    def make_arguments(self, seed=0):
        """Fresh argument values by parameter name; descriptors stay a (tensor, block) pair."""
        def make(name, value):
            own_seed = (seed << 32) + zlib.crc32(f"{self.name}.{name}".encode())
            if isinstance(value, Tensor):
                return value.make(own_seed)
            if isinstance(value, Descriptor):
                return value.tensor.make(own_seed), value.block
            if isinstance(value, tuple):
                return tuple(make(f"{name}.{i}", item) for i, item in enumerate(value))
            return value
        return {name: make(name, value) for name, value in self.arguments.items()}

    def launch_arguments(self, values):
        """(name, value) of each argument of a launch, in order; tuples taken apart, a descriptor is a (tensor, block) pair."""
        def parts(name, value):
            is_descriptor = isinstance(value, tuple) and value and isinstance(value[0], torch.Tensor) \
                and isinstance(value[1], (tuple, list))
            if isinstance(value, tuple) and not is_descriptor:
                for i, item in enumerate(value):
                    yield from parts(f"{name}.{i}", item)
            elif value is not None:
                yield name, value
        for name in self.kernel.arg_names:
            if name not in self.constants:
                yield from parts(name, values[name])

    def outputs(self):
        """Parameter name → tolerance, for what the kernel's result is compared in."""
        named = {}
        for name, value in self.arguments.items():
            tensor = value.tensor if isinstance(value, Descriptor) else value
            if isinstance(tensor, Tensor) and tensor.compare:
                by_dtype = TOLERANCES.get(tensor.dtype, 0.0)
                named[name] = by_dtype if self.tolerance is None or by_dtype == 0.0 else self.tolerance
        return named


CASES = {}


def case(name=None, grid=(1,), options=None, tolerance=None, no_interpreter="", scalar_types=None, **values):
    def register(kernel):
        constants = {p.name: values[p.name] for p in kernel_parameters(kernel) if is_constexpr(p)}
        arguments = {p.name: values[p.name] for p in kernel_parameters(kernel) if not is_constexpr(p)}
        unknown = set(values) - set(constants) - set(arguments)
        if unknown:
            raise TypeError(f"{kernel.fn.__name__} has no parameter {sorted(unknown)}")
        own = name or kernel.fn.__name__
        if own in CASES:
            raise ValueError(f"two cases are named {own}")
        CASES[own] = Case(own, kernel, grid, arguments, constants, options or {}, tolerance, no_interpreter,
                          scalar_types or {})
        return kernel
    return register


def kernel_parameters(kernel):
    import inspect
    return inspect.signature(kernel.fn).parameters.values()


def is_constexpr(parameter):
    return "constexpr" in str(parameter.annotation)
