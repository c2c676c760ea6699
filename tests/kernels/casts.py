"""Conversions between number types, bit casts, and pointers as numbers."""
import triton
import triton.language as tl

from .cases import InOut, Out, Tensor, case


@case(x=Tensor("fp32", 64), h=Out("fp16", 128), b=Out("bf16", 64), d=Out("fp64", 64), e4=Out("fp8e4nv", 64), e5=Out("fp8e5", 128),
      B=64, no_interpreter="rounds to bf16 and fp8 in other ways")
@triton.jit
def float_down(x, h, b, d, e4, e5, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r) * 100.0
    tl.store(h + r, v.to(tl.float16))
    tl.store(h + B + r, v.to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(b + r, v.to(tl.bfloat16, fp_downcast_rounding="rtne"))
    tl.store(d + r, v.to(tl.float64))
    tl.store(e4 + r, v.to(tl.float8e4nv))
    tl.store(e5 + r, v.to(tl.float8e5))
    tl.store(e5 + B + r, v.to(tl.float8e5, fp_downcast_rounding="rtz"))


@case(h=Tensor("fp16", 64), b=Tensor("bf16", 64), d=Tensor("fp64", 64), e4=Tensor("fp8e4nv", 64), e5=Tensor("fp8e5", 64),
      y=Out("fp32", 320), z=Out("fp16", 128), q=Out("fp8e5", 64), B=64, no_interpreter="rounds to fp8 in another way")
@triton.jit
def float_up(h, b, d, e4, e5, y, z, q, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(y + r, tl.load(h + r).to(tl.float32))
    tl.store(y + B + r, tl.load(b + r).to(tl.float32))
    tl.store(y + 2 * B + r, tl.load(d + r).to(tl.float32))
    tl.store(y + 3 * B + r, tl.load(e4 + r).to(tl.float32))
    tl.store(y + 4 * B + r, tl.load(e5 + r).to(tl.float32))
    tl.store(z + r, tl.load(e4 + r).to(tl.float16))
    tl.store(z + B + r, tl.load(b + r).to(tl.float16))
    tl.store(q + r, tl.load(e4 + r).to(tl.float8e5))


@case(x=Tensor("fp32", 64), i=Out("i32", 64), u=Out("u32", 64), c=Out("i8", 64), l=Out("i64", 64), p=Out("i1", 64), B=64)
@triton.jit
def float_to_int(x, i, u, c, l, p, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r) * 30.0
    tl.store(i + r, v.to(tl.int32))
    tl.store(u + r, tl.abs(v).to(tl.uint32))
    tl.store(c + r, v.to(tl.int8))
    tl.store(l + r, v.to(tl.int64))
    tl.store(p + r, (v > 0.0).to(tl.int32).to(tl.int1))


@case(i=Tensor("i32", 64, (-1000, 1000)), u=Tensor("u32", 64, (0, 1 << 32)), p=Tensor("i1", 64, (0, 2)), y=Out("fp32", 192),
      l=Out("i64", 128), s=Out("i16", 64), c=Out("u8", 64), h=Out("fp16", 64), j=Out("i32", 64), B=64)
@triton.jit
def int_to_any(i, u, p, y, l, s, c, h, j, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(i + r)
    b = tl.load(u + r)
    flag = tl.load(p + r)
    tl.store(y + r, a.to(tl.float32))
    tl.store(y + B + r, b.to(tl.float32))
    tl.store(y + 2 * B + r, flag.to(tl.float32))
    tl.store(l + r, a.to(tl.int64))
    tl.store(l + B + r, b.to(tl.int64))
    tl.store(s + r, a.to(tl.int16))
    tl.store(c + r, a.to(tl.uint8))
    tl.store(h + r, a.to(tl.float16))
    tl.store(j + r, flag.to(tl.int32) + (a != 0).to(tl.int32))


@case(x=Tensor("fp32", 64), s=Tensor("i16", 64, (-30000, 30000)), c=Tensor("i8", 64, (-120, 120)), l=Tensor("i64", 64, (0, 1 << 62)),
      i=Out("i32", 64), h=Out("fp16", 64), e4=Out("fp8e4nv", 64), d=Out("fp64", 64), B=64)
@triton.jit
def bit_casts(x, s, c, l, i, h, e4, d, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(i + r, tl.load(x + r).to(tl.int32, bitcast=True))
    tl.store(h + r, tl.load(s + r).to(tl.float16, bitcast=True))
    tl.store(e4 + r, tl.load(c + r).to(tl.float8e4nv, bitcast=True))
    tl.store(d + r, tl.load(l + r).to(tl.float64, bitcast=True))


@case(x=InOut("fp32", 64), B=16, no_interpreter="pointers are no numbers there")
@triton.jit
def pointer_casts(x, B: tl.constexpr):
    r = tl.arange(0, B)
    base = x.to(tl.int64) + 4 * B
    tl.store(base.to(tl.pointer_type(tl.float32)), 1.0)
    tl.store((x + r).to(tl.int64).to(tl.pointer_type(tl.float32)), 2.0)
    tl.store((x + 2 * B + r).to(tl.pointer_type(tl.int32), bitcast=True), r)
    tl.store((x + 3 * B).to(tl.pointer_type(tl.int32), bitcast=True), 7)


@case(h=Tensor("fp16", 32, (0, 100)), c=Tensor("i8", 32, (-100, 100)), u=Tensor("u8", 32, (0, 200)), d=Tensor("fp64", 32),
      b=Tensor("bf16", 32), x=Out("fp16", 32), y=Out("bf16", 32), z=Out("u8", 32), e4=Out("fp8e4nv", 64), k=Out("i8", 32), B=32,
      no_interpreter="rounds to bf16 and fp8 in other ways")
@triton.jit
def small_casts(h, c, u, d, b, x, y, z, e4, k, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(x + r, tl.load(c + r).to(tl.float16))
    tl.store(y + r, tl.load(u + r).to(tl.bfloat16))
    tl.store(z + r, tl.load(h + r).to(tl.uint8))
    tl.store(e4 + r, tl.load(d + r).to(tl.float8e4nv))
    tl.store(e4 + B + r, tl.load(b + r).to(tl.float8e4nv))
    tl.store(k + r, (r > 3).to(tl.int8))
