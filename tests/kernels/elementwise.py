"""Arithmetic on floats: every type, every function, NaN rules."""
import triton
import triton.language as tl
from triton.language.extra import libdevice

from .cases import InOut, Out, Tensor, case

SPECIAL = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.5, 2.5, 1e-40, 3e38, -7.0, 0.5, 4.0, 9.0, -2.0, 6.0]


@case(grid=(4,), x=Tensor("fp32", 64), y=Tensor("fp32", 64), z=Out("fp32", 64), n=50, B=16)
@triton.jit
def vector_add(x, y, z, n, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    inside = offsets < n
    tl.store(z + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside), mask=inside)


@triton.jit
def chain(x, y, z, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(z + r, (a + b) * (a - b) + a * 2 - b)


for _dtype in ("fp64", "fp32", "fp16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"):
    _fill = "normal" if "f" in _dtype else (0, 100)
    case(name=f"chain_{_dtype}", grid=(2,), x=Tensor(_dtype, 64, _fill), y=Tensor(_dtype, 64, _fill), z=Out(_dtype, 64), B=32,
         no_interpreter="rounds to bf16 by truncation" if _dtype == "bf16" else "")(chain)


@case(x=Tensor("fp32", 64), y=Tensor("fp32", 64), z=Out("fp32", 192), B=64)
@triton.jit
def divide(x, y, z, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(z + r, a / b)
    tl.store(z + B + r, a % b)
    tl.store(z + 2 * B + r, tl.div_rn(a, b) + tl.fdiv(a, b))


@case(x=Tensor("fp32", 16, SPECIAL), y=Tensor("fp32", 16, SPECIAL[::-1]), z=Out("fp32", 96), B=16, no_interpreter="minnum gives NaN where TTIR says the other operand")
@triton.jit
def min_max_nan(x, y, z, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(z + r, tl.minimum(a, b))
    tl.store(z + B + r, tl.maximum(a, b))
    tl.store(z + 2 * B + r, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(z + 3 * B + r, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(z + 4 * B + r, tl.clamp(a, -1.0, 3.0))
    tl.store(z + 5 * B + r, tl.clamp(a, -1.0, 3.0, propagate_nan=tl.PropagateNan.ALL))


@case(x=Tensor("fp16", 32), y=Tensor("bf16", 32), h=Out("fp16", 64), b=Out("bf16", 64), B=32,
      no_interpreter="rounds to bf16 by truncation")
@triton.jit
def small_floats(x, y, h, b, B: tl.constexpr):
    r = tl.arange(0, B)
    u = tl.load(x + r)
    v = tl.load(y + r)
    tl.store(h + r, tl.minimum(u + u, u) / (u * u + 1.0))
    tl.store(h + B + r, tl.abs(u))
    tl.store(b + r, tl.clamp(v * v / (v * v + 1.0), 0.0, 6.0))
    tl.store(b + B + r, tl.abs(v) + tl.where(v > 0.0, v, -v))


@case(x=Tensor("fp32", 16, SPECIAL), y=Tensor("fp32", 16, [1.0] * 16), p=Out("i1", 96), B=16)
@triton.jit
def compare(x, y, p, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(p + r, a < b)
    tl.store(p + B + r, a <= b)
    tl.store(p + 2 * B + r, a > b)
    tl.store(p + 3 * B + r, (a >= b) | (a != a))
    tl.store(p + 4 * B + r, (a == b) ^ (a < 0.0))
    tl.store(p + 5 * B + r, ~(a != b) & (a > 0.0))


@triton.jit
def math_functions(x, y, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    positive = tl.abs(v) + 0.25
    tl.store(y + r, tl.exp(v) + tl.exp2(v))
    tl.store(y + B + r, tl.log(positive) + tl.log2(positive))
    tl.store(y + 2 * B + r, tl.sin(v) * tl.cos(v))
    tl.store(y + 3 * B + r, tl.sqrt(positive) + tl.rsqrt(positive))
    tl.store(y + 4 * B + r, tl.erf(v) + tl.floor(v) + tl.ceil(v))
    tl.store(y + 5 * B + r, tl.fma(v, positive, v))


for _dtype in ("fp32", "fp64"):
    case(name=f"math_functions_{_dtype}", x=Tensor(_dtype, 64), y=Out(_dtype, 384), B=64, tolerance=1e-5)(math_functions)


@case(x=Tensor("fp32", 64), y=Out("fp32", 128), B=64)
@triton.jit
def activations(x, y, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    tl.store(y + r, v * tl.sigmoid(v))
    tl.store(y + B + r, 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476)) + tl.sqrt_rn(v * v))


@case(x=Tensor("fp32", 64), i=Tensor("i32", 64, (-1000, 1000)), d=Tensor("fp64", 64), y=Out("fp32", 576), j=Out("i32", 192),
      e=Out("fp64", 64), B=64, no_interpreter="libdevice is missing")
@triton.jit
def libdevice_calls(x, i, d, y, j, e, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    tl.store(y + r, libdevice.tanh(v))
    tl.store(y + B + r, libdevice.pow(tl.abs(v), 1.5))
    tl.store(y + 2 * B + r, libdevice.rint(v) + libdevice.trunc(v))
    tl.store(y + 3 * B + r, libdevice.atan2(v, v + 1.0))
    tl.store(y + 4 * B + r, tl.where(libdevice.isnan(v), 0.0, libdevice.log1p(tl.abs(v))))
    tl.store(y + 5 * B + r, libdevice.expm1(v) + libdevice.fast_expf(v))
    tl.store(y + 6 * B + r, libdevice.div_rz(v, v + 4.0))
    tl.store(y + 7 * B + r, libdevice.fast_dividef(v, v + 4.0))
    tl.store(y + 8 * B + r, libdevice.cbrt(v) + libdevice.asinh(v))
    n = tl.load(i + r)
    tl.store(j + r, libdevice.popc(n))
    tl.store(j + B + r, libdevice.clz(n))
    tl.store(j + 2 * B + r, libdevice.float2int_rn(v))
    tl.store(e + r, libdevice.erfinv(libdevice.tanh(tl.load(d + r))))


@case(y=Out("fp32", 144), h=Out("fp16", 32), b=Out("bf16", 32), d=Out("fp64", 32), i=Out("i32", 32), p=Out("i1", 32),
      e=Out("fp8e5", 16), B=16, no_interpreter="no bf16 constants")
@triton.jit
def constants(y, h, b, d, i, p, e, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(y + r, float("inf"))
    tl.store(y + B + r, -float("inf"))
    tl.store(y + 2 * B + r, float("nan"))
    tl.store(y + 3 * B + r, 0.1)
    tl.store(y + 4 * B + r, 1e-30)
    tl.store(y + 5 * B + r, 3.0e38)
    tl.store(y + 6 * B + r, 16777216.0)
    tl.store(y + 7 * B + r, 1.401298464324817e-45)
    tl.store(y + 8 * B, 1.5)
    tl.store(h + r, tl.full((B,), 0.1, tl.float16))
    tl.store(h + B + r, tl.full((B,), float("nan"), tl.float16))
    tl.store(b + r, tl.full((B,), 0.1, tl.bfloat16))
    tl.store(b + B + r, tl.full((B,), float("inf"), tl.bfloat16))
    tl.store(d + r, tl.full((B,), 0.1, tl.float64))
    tl.store(d + B + r, tl.full((B,), float("-inf"), tl.float64))
    tl.store(i + r, tl.full((B,), -2147483648, tl.int32))
    tl.store(i + B + r, tl.full((B,), 255, tl.uint8).to(tl.int8, bitcast=True).to(tl.int32))
    tl.store(p + r, tl.full((B,), 1, tl.int1))
    tl.store(p + B, True)
    tl.store(e + r, tl.zeros((B,), tl.float8e5))


@case(x=InOut("fp32", 64), s=2.5, k=3, t=-1.25, big=1 << 40, flag=True, B=64,
      scalar_types={"t": "fp64", "big": "i64", "flag": "i1"}, no_interpreter="no i1 arguments")
@triton.jit
def scalar_arguments(x, s, k, t, big, flag, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r) * s + k
    v = tl.where(flag, v + t.to(tl.float32), v)
    tl.store(x + r, v + (big >> 38))
