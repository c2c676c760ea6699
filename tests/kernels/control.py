"""Loops, branches, early returns, calls that stay calls."""
import triton
import triton.language as tl

from .cases import InOut, Out, Tensor, case


@triton.jit(noinline=True)
def pick(a, n):
    k = n
    if n > 3:
        a = a * 2
        k = n + 1
    return a, k


@triton.jit(noinline=True)
def write_float(x, n):
    tl.store(x, n.to(tl.float32))


@triton.jit(noinline=True)
def first_or_one(x, n):
    if n > 3:
        return 1.0
    return tl.load(x)


@triton.jit(noinline=True)
def add_constant(a, B: tl.constexpr):
    return a + B


@triton.jit
def successor(a):
    return a + 1


@case(x=Tensor("fp32", 1), z=Out("fp32", 17), n=5, B=16)
@triton.jit
def calls(x, z, n, B: tl.constexpr):
    v, k = pick(successor(tl.load(x)), n)
    write_float(z + B, k)
    tl.store(z + tl.arange(0, B), v)


@case(x=Tensor("fp32", 1), z=Out("fp32", 2), n=2, m=1)
@triton.jit
def calls_quoted(x, z, n, m):
    tl.store(z, first_or_one(x, add_constant(n, 3)))
    tl.store(z + 1, first_or_one(x, add_constant(m, 2)))


@case(x=Tensor("fp32", 16), z=Out("fp32", 32), n=7, m=11, wide=3, B=16, scalar_types={"wide": "i64"})
@triton.jit
def loops(x, z, n, m, wide, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    total = 0
    target = z + r
    for a in range(n):
        v += 1.0
        for b in range(a, m, 3):
            v = v * 0.5 + b
            total += b
            if b == 5:
                v = v - 2.0
    for a in range(0, wide):
        v += a * 0.5
    for a in range(n, 0, -2):
        v += a * 0.125
    for a in range(m, n):
        v = v * 0.0
    for _ in tl.static_range(2):
        target += 8
    tl.store(target, v + total)


@case(x=Tensor("fp32", 16), z=Out("fp32", 16), n=7, m=11, B=16)
@triton.jit
def loop_options(x, z, n, m, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    for a in tl.range(0, n, num_stages=3):
        v = v * 0.75 + a
    for a in tl.range(0, n, 2, loop_unroll_factor=2):
        v = v * 0.5 - a
    for a in tl.range(n, m, flatten=True, disallow_acc_multi_buffer=True, disable_licm=True):
        v = v * 0.25 + a
    for a in tl.range(0, n, warp_specialize=True):
        v = v + 1.0
    tl.store(z + r, v)


@case(z=Out("fp32", 16), n=5, scalar_types={"n": "u32"})
@triton.jit
def unsigned_loop(z, n):
    for a in range(0, n):
        tl.store(z + a, 1.0)
    for a in range(n, 15, 3):
        tl.store(z + a, a // 2)


@case(x=Tensor("fp32", 32), i=InOut("i32", 1, "zeros"), z=Out("fp32", 2), n=20)
@triton.jit
def whiles(x, i, z, n):
    a = n
    v = 0.0
    while a > 0:
        v += tl.abs(tl.load(x + a)) + 1.0
        a -= 1
        while v > 10.0:
            v *= 0.5
    tl.store(z, v)
    while tl.load(i) < 3 and n > 0:
        tl.store(i, tl.load(i) + 1)


@triton.jit
def branches(x, i, z, n, m, f, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    k = n
    if n > 3:
        tl.store(i, 1)
    if n == 4 and m < 3:
        v = v * 2
        k = k + tl.load(i)
    elif n == 5:
        v = v - 1
    else:
        tl.store(i + 1, 2)
    w = v if m > 2 else v + f
    tl.store(z + r, w + k + (m if n > 2 else n))


for _n, _m in ((4, 1), (5, 7), (2, 3)):
    case(name=f"branches_{_n}_{_m}", x=Tensor("fp32", 16), i=InOut("i32", 2, "zeros"), z=Out("fp32", 16), n=_n, m=_m, f=0.5, B=16)(branches)


@triton.jit
def early_return(z, n, m):
    if tl.program_id(0) >= n:
        return
    here = z + tl.program_id(0) * 3
    tl.store(here, 1.0)
    if m > 3:
        tl.store(here + 1, 1.0)
        if n > 7:
            return
    tl.store(here + 2, 2.0)


for _n, _m in ((2, 4), (8, 9), (3, 1)):
    case(name=f"early_return_{_n}_{_m}", grid=(4,), z=Out("fp32", 12), n=_n, m=_m)(early_return)


@case(x=Tensor("fp32", 1), z=Out("fp32", 1), n=3, m=5)
@triton.jit
def early_value(x, z, n, m):
    v = 1.0
    if m > 3:
        if n > 7:
            return
        v = tl.load(x)
    else:
        v = 2.0
    tl.store(z, v)
