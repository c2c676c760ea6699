"""Matrix products in every precision and element type."""
import triton
import triton.language as tl

from .cases import Out, Tensor, case

IGNORES = "input_precision is ignored there"


@triton.jit
def dot_precision(x, y, z, PRECISION: tl.constexpr, B: tl.constexpr):
    r = tl.arange(0, B)
    g = r[:, None] * B + r[None, :]
    a = tl.load(x + g)
    b = tl.load(y + g)
    total = tl.dot(a, b, input_precision=PRECISION)
    tl.store(z + g, tl.dot(b, a, total, input_precision=PRECISION) * 0.5)


for _precision in ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"):
    case(name=f"dot_{_precision}", x=Tensor("fp32", (32, 32)), y=Tensor("fp32", (32, 32)), z=Out("fp32", (32, 32)), PRECISION=_precision, B=32,
         tolerance=2e-2 if _precision == "tf32" else 1e-4, no_interpreter="" if _precision == "ieee" else IGNORES)(dot_precision)


@triton.jit
def dot_types(x, y, z, OUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    tl.store(z + m[:, None] * N + n[None, :], tl.dot(a, b, out_dtype=OUT))


for _in, _out, _tl, _why in (("fp16", "fp32", tl.float32, ""), ("fp16", "fp16", tl.float16, ""),
                             ("bf16", "fp32", tl.float32, "multiplies bit patterns of bf16"), ("fp64", "fp64", tl.float64, ""),
                             ("fp8e4nv", "fp32", tl.float32, "no fp8 dot"), ("fp8e5", "fp32", tl.float32, "no fp8 dot")):
    case(name=f"dot_{_in}_to_{_out}", x=Tensor(_in, (32, 64)), y=Tensor(_in, (64, 16)), z=Out(_out, (32, 16)), OUT=_tl, M=32, N=16, K=64,
         tolerance=2e-2 if _out == "fp16" else None, no_interpreter=_why)(dot_types)
case(name="dot_i8_to_i32", x=Tensor("i8", (32, 64), (-128, 128)), y=Tensor("i8", (64, 16), (-128, 128)), z=Out("i32", (32, 16)), OUT=tl.int32,
     M=32, N=16, K=64)(dot_types)


@case(x=Tensor("fp8e4nv", (32, 32)), z=Out("fp32", (32, 32)), B=32, no_interpreter="no fp8 dot", tolerance=1e-3)
@triton.jit
def dot_imprecise(x, z, B: tl.constexpr):
    r = tl.arange(0, B)
    g = r[:, None] * B + r[None, :]
    a = tl.load(x + g)
    total = tl.dot(a, a, max_num_imprecise_acc=16)
    tl.store(z + g, tl.dot(a, a, total, max_num_imprecise_acc=0))


@case(x=Tensor("fp16", (4, 16, 32)), y=Tensor("fp16", (4, 32, 16)), z=Out("fp32", (4, 16, 16)), B=4, M=16, K=32)
@triton.jit
def dot_batched(x, y, z, B: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    b = tl.arange(0, B)[:, None, None]
    m = tl.arange(0, M)
    k = tl.arange(0, K)
    left = tl.load(x + b * M * K + m[None, :, None] * K + k[None, None, :])
    right = tl.load(y + b * K * M + k[None, :, None] * M + m[None, None, :])
    tl.store(z + b * M * M + m[None, :, None] * M + m[None, None, :], tl.dot(left, right))


@case(x=Tensor("fp32", (16, 16)), y=Tensor("fp32", (16, 16)), z=Out("fp32", (16, 16)), B=16, tolerance=2e-2)
@triton.jit
def product_becomes_dot(x, y, z, B: tl.constexpr):
    r = tl.arange(0, B)
    g = r[:, None] * B + r[None, :]
    a = tl.load(x + g)
    b = tl.load(y + g)
    tl.store(z + g, tl.sum(a[:, :, None] * b[None, :, :], 1) + 1.0)


@triton.jit
def scaled(x, xs, y, ys, z, XF: tl.constexpr, YF: tl.constexpr, XP: tl.constexpr, YP: tl.constexpr, FAST: tl.constexpr, M: tl.constexpr,
           N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    kx = tl.arange(0, K // XP)
    ky = tl.arange(0, K // YP)
    s = tl.arange(0, K // 32)
    a = tl.load(x + m[:, None] * (K // XP) + kx[None, :])
    b = tl.load(y + ky[:, None] * N + n[None, :])
    a_scale = tl.load(xs + m[:, None] * (K // 32) + s[None, :])
    b_scale = tl.load(ys + n[:, None] * (K // 32) + s[None, :])
    total = tl.dot_scaled(a, a_scale, XF, b, b_scale, YF, fast_math=FAST)
    tl.store(z + m[:, None] * N + n[None, :], total)


for _x, _y, _fast in (("e2m1", "e4m3", False), ("e5m2", "e2m1", True), ("e4m3", "e5m2", False)):
    case(name=f"dot_scaled_{_x}_{_y}", x=Tensor("u8", (32, 32 if _x == "e2m1" else 64), (0, 120)), y=Tensor("u8", (32 if _y == "e2m1" else 64, 16), (0, 120)),
         xs=Tensor("u8", (32, 2), (125, 130)), ys=Tensor("u8", (16, 2), (125, 130)), z=Out("fp32", (32, 16)), XF=_x, YF=_y,
         XP=2 if _x == "e2m1" else 1, YP=2 if _y == "e2m1" else 1, FAST=_fast, M=32, N=16, K=64, tolerance=1e-3,
         no_interpreter="dot_scaled is missing")(scaled)


@case(x=Tensor("u8", (32, 64), (0, 120)), xs=Tensor("u8", (32, 2), (125, 130)), h=Tensor("bf16", (64, 16)), y=Tensor("u8", (64, 8), (0, 255)),
      ys=Tensor("u8", (16, 2), (125, 130)), f=Tensor("fp16", (64, 16)), z=Out("fp32", (96, 16)), M=32, N=16, K=64, tolerance=1e-3,
      no_interpreter="dot_scaled is missing")
@triton.jit
def dot_scaled_mixed(x, xs, h, y, ys, f, z, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    s = tl.arange(0, K // 32)
    a = tl.load(x + m[:, None] * K + k[None, :])
    a_scale = tl.load(xs + m[:, None] * (K // 32) + s[None, :])
    g = m[:, None] * N + n[None, :]
    tl.store(z + g, tl.dot_scaled(a, a_scale, "e4m3", tl.load(h + k[:, None] * N + n[None, :]), None, "bf16"))
    tl.store(z + M * N + g, tl.dot_scaled(a, a_scale, "e5m2", tl.load(f + k[:, None] * N + n[None, :]), None, "fp16"))
    packed = tl.load(y + k[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :])
    b_scale = tl.load(ys + n[:, None] * (K // 32) + s[None, :])
    tl.store(z + 2 * M * N + g, tl.dot_scaled(a, a_scale, "e4m3", packed, b_scale, "e2m1", rhs_k_pack=False))
