"""Integer arithmetic, signed and unsigned, comparisons, index helpers."""
import triton
import triton.language as tl

from .cases import Out, Tensor, case


@case(x=Tensor("i32", 64, (-10000, 10000)), y=Tensor("i32", 64, (1, 31)), z=Out("i32", 704), n=17, B=64,
      no_interpreter="divides with Python's rounding")
@triton.jit
def signed(x, y, z, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(z + r, a * 1000003 + b)
    tl.store(z + B + r, a // b)
    tl.store(z + 2 * B + r, a % b)
    tl.store(z + 3 * B + r, (a & b) | (a ^ 5))
    tl.store(z + 4 * B + r, a << b)
    tl.store(z + 5 * B + r, a >> b)
    tl.store(z + 6 * B + r, tl.minimum(a, b) - tl.maximum(a, b * n))
    tl.store(z + 7 * B + r, tl.abs(a) + ~a - (-b))
    tl.store(z + 8 * B + r, tl.cdiv(tl.abs(a), 7) + n // 3 + n % 5)
    tl.store(z + 9 * B + r, tl.where(a > b, a, b))
    tl.store(z + 10 * B + r, (a < b).to(tl.int32) + (a <= 0) + (a >= n))


@case(x=Tensor("u32", 64, (0, 1 << 32)), y=Tensor("u32", 64, (1, 31)), z=Out("u32", 512), n=17, B=64, scalar_types={"n": "u32"})
@triton.jit
def unsigned(x, y, z, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(z + r, a * b + n)
    tl.store(z + B + r, a // b)
    tl.store(z + 2 * B + r, a % b)
    tl.store(z + 3 * B + r, a >> b)
    tl.store(z + 4 * B + r, a << b)
    tl.store(z + 5 * B + r, tl.minimum(a, b))
    tl.store(z + 6 * B + r, tl.maximum(a, b))
    tl.store(z + 7 * B + r, tl.umulhi(a, a), mask=(a < b * n) | (a > 3) & (a >= b) | (a <= n))


@case(x=Tensor("i64", 64, (-(1 << 62), 1 << 62)), u=Tensor("u64", 64, (0, 1 << 62)), z=Out("i64", 192), w=Out("u64", 64),
      n=1 << 33, B=64, scalar_types={"n": "i64"})
@triton.jit
def wide(x, u, z, w, n, B: tl.constexpr):
    r = tl.arange(0, B).to(tl.int64)
    a = tl.load(x + r)
    b = tl.load(u + r)
    tl.store(z + r, a + (a << 40) + 0x7fffffffffffffff)
    tl.store(z + B + r, (a >> 3) * n)
    tl.store(z + 2 * B + r, tl.maximum(a, -n) ^ 0x0123456789abcdef)
    tl.store(w + r, tl.umulhi(b, b) + 0xffffffffffffffff)


@case(x=Tensor("i8", 64, (-128, 128)), y=Tensor("u8", 64, (0, 256)), s=Tensor("u16", 64, (0, 65536)), z=Out("i8", 128),
      w=Out("u8", 128), t=Out("u16", 64), B=64)
@triton.jit
def narrow(x, y, s, z, w, t, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(z + r, a + a)
    tl.store(z + B + r, a >> 2)
    tl.store(w + r, b * b + 200)
    tl.store(w + B + r, b >> 2)
    tl.store(t + r, tl.load(s + r) >> 5)


@case(x=Tensor("i32", 32, (-5, 5)), y=Tensor("i32", 32, (-5, 5)), p=Out("i1", 224), B=32)
@triton.jit
def compare_integers(x, y, p, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(p + r, a < b)
    tl.store(p + B + r, a <= b)
    tl.store(p + 2 * B + r, a > b)
    tl.store(p + 3 * B + r, a >= b)
    tl.store(p + 4 * B + r, a == b)
    tl.store(p + 5 * B + r, a != b)
    tl.store(p + 6 * B + r, (~(a > 1)) ^ (a < b))


@case(grid=(4, 3), i=Out("i32", 12), j=Out("i32", 12))
@triton.jit
def swizzle(i, j):
    rows = tl.num_programs(0)
    columns = tl.num_programs(1)
    a, b = tl.swizzle2d(tl.program_id(0), tl.program_id(1), rows, columns, 2)
    here = tl.program_id(0) * columns + tl.program_id(1) + tl.program_id(2)
    tl.store(i + here, a)
    tl.store(j + here, b)


@case(x=Tensor("i32", 16, (-100, 100)), z=Out("i32", 32), B=16, no_interpreter="shifts and divisions that are undefined")
@triton.jit
def undefined_lanes(x, z, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    divisor = tl.where(v > 0, v, 0)
    tl.store(z + r, tl.where(v > 0, 1000 // divisor, -1))
    tl.store(z + B + r, tl.where(v > 0, v >> 1, v << 40))
