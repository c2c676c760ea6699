"""Random numbers, maps, printing, assertions, assembly."""
import triton
import triton.language as tl
from triton.language.extra import cuda

from .cases import Out, Tensor, case


@case(x=Out("fp32", 192), i=Out("i32", 128), seed=42, wide=1 << 34, B=64, scalar_types={"wide": "i64"})
@triton.jit
def random_numbers(x, i, seed, wide, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(x + r, tl.rand(seed, r))
    tl.store(x + B + r, tl.randn(wide, r))
    tl.store(x + 2 * B + r, tl.rand(seed, r + 7) * 2.0)
    tl.store(i + r, tl.randint(seed, r))
    a, b, c, d = tl.randint4x(3, r)
    tl.store(i + B + r, a ^ b ^ c ^ d)


@triton.jit
def both(a, b):
    return tl.where(a > b, a, b), a + b


@triton.jit
def magnitude(a):
    if a > 0.0:
        b = a
    else:
        b = -a
    return b


@triton.jit
def pairwise(a0, a1, b0, b1):
    return a0 + b0, a1 + b1


@case(x=Tensor("fp32", 64), y=Tensor("fp32", 64), z=Out("fp32", 256), B=64, no_interpreter="map_elementwise is missing")
@triton.jit
def map_elements(x, y, z, B: tl.constexpr):
    r = tl.arange(0, B)
    u = tl.load(x + r)
    v = tl.load(y + r)
    a, b = tl.map_elementwise(both, u, v)
    tl.store(z + r, a)
    tl.store(z + B + r, b)
    tl.store(z + 2 * B + r, tl.map_elementwise(magnitude, u))
    tl.store(z + 3 * B + r, tl.map_elementwise(pairwise, u, v, pack=2)[0])


@case(x=Tensor("fp32", 16), i=Tensor("i32", 16, (1, 50)), z=Out("i32", 16), n=3, B=16, options={"debug": True})
@triton.jit
def asserts_and_prints(x, i, z, n, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    k = tl.load(i + r)
    tl.static_assert(B > 1)
    tl.device_print("v", v, n)
    tl.device_print("hex", k, hex=True)
    tl.device_print("only")
    tl.device_assert(k > 0, "k must be positive")
    tl.device_assert(n > 0, "n", mask=n > 2)
    tl.store(z + r, r * n + tl.sum(k, 0))


@case(x=Tensor("fp32", 16), c=Tensor("i8", 16, (0, 9)), z=Out("fp32", 16), d=Out("i8", 16), i=Out("i32", 2), B=16,
      no_interpreter="assembly")
@triton.jit
def assembly(x, c, z, d, i, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [tl.load(x + r)], dtype=tl.float32, is_pure=True, pack=1)
    a, b = tl.inline_asm_elementwise("{ mov.b32 $0, $2; mov.b32 $1, $2; }", "=r,=r,r", [tl.load(c + r)], dtype=(tl.int8, tl.int8),
                                     is_pure=False, pack=4)
    cuda.gdc_wait()
    tl.store(z + r, v)
    tl.store(d + r, a + b)
    tl.store(i, cuda.smid())
    tl.store(i + 1, cuda.num_threads())
    cuda.gdc_launch_dependents()


@triton.jit
def doubled_or_scaled(v, scale):
    if v > 0.0:
        return v * 2.0, 1
    if v < -2.0:
        return v, 2
    return v * scale, 3


@case(x=Tensor("fp32", 64), y=Out("fp32", 64), i=Out("i32", 64), scale=0.5, B=64, no_interpreter="map_elementwise is missing")
@triton.jit
def map_with_returns(x, y, i, scale, B: tl.constexpr):
    r = tl.arange(0, B)
    a, b = tl.map_elementwise(doubled_or_scaled, tl.load(x + r), scale)
    tl.store(y + r, a)
    tl.store(i + r, b)
