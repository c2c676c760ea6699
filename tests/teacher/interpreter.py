"""Triton's interpreter for the teacher's tests: with what it lacks, and without what it does again and again for nothing.

Only the order changes in which reductions and scans combine elements: neighbours first, in steps of whole blocks.
test_interpreter.py runs the sample kernels both ways.
"""
import functools
import math
import os
import types

os.environ["TRITON_INTERPRET"] = "1"
import numpy as np
import torch
import triton.language as tl
from triton._C.libtriton import ir
from triton.language.extra import libdevice
from triton.runtime import interpreter as tritons
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle


def patch_libdevice():
    """The interpreter knows no libdevice; give it PyTorch's functions instead."""

    def stand_in(function):
        def call(*args):
            first = next(a for a in args if isinstance(a, tl.tensor))
            data = [torch.from_numpy(a.handle.data) if isinstance(a, tl.tensor) else torch.tensor(a) for a in args]
            result = function(*data).to(data[args.index(first)].dtype).numpy()
            return tl.tensor(TensorHandle(result, first.handle.dtype), first.type)

        return call

    for name, function in {"tanh": torch.tanh, "log1p": torch.log1p, "expm1": torch.expm1, "pow": torch.pow,
                           "nearbyint": torch.round, "trunc": torch.trunc, "erfc": torch.erfc, "tan": torch.tan,
                           "erfinv": torch.erfinv, "lgamma": torch.lgamma,
                           "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "log10": torch.log10,
                           "asin": torch.asin, "acos": torch.acos, "atan2": torch.atan2,
                           "fmod": torch.fmod}.items():
        setattr(libdevice, name, stand_in(function))


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bfloat16(numbers):
    """The bits of what is nearest, of the even one of two."""
    bits = numbers.view(np.uint32)
    return np.where(np.isnan(numbers), 0x7FC0, (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)


def patch_dot():
    """The interpreter multiplies the bit patterns of bfloat16 numbers, and float32 numbers in TF32 dots: give it the
    numbers, and those with the 13 places cut off that tensor cores do not read."""
    create_dot = InterpreterBuilder.create_dot

    def cut(handle):
        return TensorHandle((handle.data.view(np.int32) & -0x2000).view(np.float32), tl.float32)

    def create_right_dot(self, a, b, d, precision, *options):
        if a.dtype == tl.bfloat16:
            a, b = (TensorHandle(from_bfloat16(side.data), tl.float32) for side in (a, b))
        elif a.dtype == tl.float32 and precision == ir.INPUT_PRECISION.TF32:
            a, b = cut(a), cut(b)
        return create_dot(self, a, b, d, precision, *options)

    InterpreterBuilder.create_dot = create_right_dot


def patch_casts():
    """The interpreter cuts off what bfloat16 does not hold, where a GPU rounds; it takes numbers apart for it."""
    cast_impl = InterpreterBuilder.cast_impl

    def right_cast(self, source, target):
        types = source.dtype.scalar, target.scalar
        if types == (tl.float32, tl.bfloat16):
            return TensorHandle(to_bfloat16(source.data), tl.bfloat16)
        if types == (tl.bfloat16, tl.float32):
            return TensorHandle(from_bfloat16(source.data), tl.float32)
        return cast_impl(self, source, target)

    InterpreterBuilder.cast_impl = right_cast


def patch_erf():
    """The interpreter calls math.erf for each element."""

    def create_erf(self, arg):
        result = torch.erf(torch.from_numpy(arg.data).double()).numpy()
        return TensorHandle(result.astype(arg.data.dtype), arg.dtype.scalar)

    InterpreterBuilder.create_erf = create_erf


def patch_language():
    """The interpreter looks for the members of triton.language that it replaces in each call of a function, sum and max
    too. Find them once, and replace them where a kernel starts."""
    scope = tritons._patch_lang(types.FunctionType(patch_language.__code__, {"tl": tl, "core": tl.core}))
    replaced = [(owner, name, getattr(owner, name)) for owner, name, _ in scope._changes]
    scope.restore()

    def replace(function):
        scope = tritons._LangPatchScope()
        if tl.core.is_builtin(tl.load):  # else a kernel is running
            for change in replaced:
                scope.set_attr(*change)
        return scope

    tritons._patch_lang = replace


def patch_overflow():
    """The interpreter computes integers a second time in int64, compares, and without `debug` tells nobody of it."""
    assert not tritons.interpreter_builder.options.debug
    tritons.interpreter_builder.options = tritons.InterpreterOptions(sanitize_overflow=False)


def patch_types():
    """The interpreter makes types and shapes, and a table of NumPy's types, for each value. Make each once."""
    numpy_dtype, numpy_dtypes = tritons._get_np_dtype, {}
    describe, described = tl.block_type.__init__, {}

    def numpy_dtype_once(dtype):
        scalar = dtype.scalar
        if scalar.name not in numpy_dtypes:
            numpy_dtypes[scalar.name] = numpy_dtype(scalar)
        return numpy_dtypes[scalar.name]

    def describe_once(self, element_ty, shape):
        key = element_ty.name, tuple(s.value if isinstance(s, tl.constexpr) else s for s in shape)
        if key not in described:
            describe(self, element_ty, shape)
            described[key] = dict(vars(self))
        vars(self).update(described[key])

    @functools.lru_cache(None)
    def shape_and_size(shape):
        return tl.tuple([tl.constexpr(s) for s in shape]), tl.constexpr(math.prod(shape))

    def tensor(self, handle, type):
        self.handle, self.type, self.dtype = handle, type, type.scalar
        self.shape, self.numel = shape_and_size(tuple(type.shape) if type.is_block() else ())

    def equal(self, other):
        return tl.constexpr(self.values == [tl.core._unwrap_if_constexpr(value) for value in other])

    tritons._get_np_dtype, tl.block_type.__init__ = numpy_dtype_once, describe_once
    tl.tensor.__init__, tl.tuple.__eq__ = tensor, equal


def combined(op, inputs, left, right):
    """What op's function makes of two arrays for each input."""
    sides = [op.to_tensor(array, arg.dtype) for arrays in (left, right) for array, arg in zip(arrays, inputs)]
    results = op.combine_fn.fn(*sides)
    results = results if isinstance(results, tuple) else (results,)
    return [np.broadcast_to(r.handle.data if isinstance(r, tl.tensor) else r, array.shape).astype(array.dtype)
            for r, array in zip(results, left)]  # fmt: skip


def reduce_by_blocks(self, inputs):
    """ReduceOps.generic_reduce; each step halves the lines."""
    dimensions = inputs[0].handle.data.ndim
    lines = [arg.handle.data.reshape(-1) if self.axis is None else np.moveaxis(arg.handle.data, self.axis, -1) for arg in inputs]
    while lines[0].shape[-1] > 1:
        lines = combined(self, inputs, [line[..., 0::2] for line in lines], [line[..., 1::2] for line in lines])
    if not self.keep_dims:
        lines = [line[..., 0] for line in lines]
    elif self.axis is None:
        lines = [line.reshape((1,) * dimensions) for line in lines]
    else:
        lines = [np.moveaxis(line, -1, self.axis) for line in lines]
    return [self.to_tensor(line, arg.dtype) for line, arg in zip(lines, inputs)]


def scan_by_blocks(self, inputs):
    """ScanOps.generic_scan; after each step an element has joined twice as many before it."""
    lines = [np.moveaxis(arg.handle.data, self.axis, -1) for arg in inputs]
    length, step = lines[0].shape[-1], 1
    while step < length:
        before = [np.roll(line, step, -1) for line in lines]
        lines = [np.where(np.arange(length) < step, line, joined)
                 for line, joined in zip(lines, combined(self, inputs, before, lines))]  # fmt: skip
        step *= 2
    return [self.to_tensor(np.moveaxis(line, -1, self.axis), arg.dtype) for line, arg in zip(lines, inputs)]


def patch_combinations():
    """The interpreter calls the function of a reduction or scan that is no sum or maximum for each element."""
    tritons.ReduceOps.generic_reduce = reduce_by_blocks
    tritons.ScanOps.generic_scan = scan_by_blocks


def patch():
    """Once in a process."""
    for part in (patch_libdevice, patch_dot, patch_casts, patch_erf, patch_language, patch_overflow, patch_types, patch_combinations):
        part()
