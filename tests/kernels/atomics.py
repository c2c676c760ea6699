"""Read-modify-write, compare-and-swap, locks, and the last program that finishes the work."""
import triton
import triton.language as tl

from .cases import InOut, Out, Tensor, case


@case(grid=(4,), i=InOut("i32", 128, (0, 100)), u=InOut("u32", 32, (0, 100)), l=InOut("i64", 16, (0, 100)), n=10, B=16)
@triton.jit
def integer_atomics(i, u, l, n, B: tl.constexpr):
    r = tl.arange(0, B)
    step = tl.program_id(0) + 1
    tl.atomic_add(i + r, r * step)
    tl.atomic_add(i + B + r, step, mask=r < n, sem="relaxed")
    tl.atomic_max(i + 2 * B + r, r * step * 10, sem="acquire", scope="gpu")
    tl.atomic_min(i + 3 * B + r, r - step, sem="release", scope="sys")
    tl.atomic_and(i + 4 * B + r, 255 - step)
    tl.atomic_or(i + 5 * B + r, 1 << step)
    tl.atomic_xor(i + 6 * B + r, r * step)
    tl.atomic_add(i + 7 * B, 1)
    tl.atomic_max(u + r, (r * step * 9).to(tl.uint32))
    tl.atomic_min(u + B + r, (r * step * 9).to(tl.uint32))
    tl.atomic_add(l + r, step.to(tl.int64))


@case(i=InOut("i32", 48, (0, 4)), old=Out("i32", 49), B=16)
@triton.jit
def exchanges(i, old, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(old + r, tl.atomic_xchg(i + r, r))
    tl.store(old + B + r, tl.atomic_cas(i + B + r, r % 4, r + 100))
    tl.store(old + 2 * B + r, tl.atomic_add(i + 2 * B + r, 5))
    tl.store(old + 3 * B, tl.atomic_cas(i, 0, 77, sem="acquire"))
    tl.atomic_xchg(i + 1, -3, sem="release")


@case(grid=(4,), x=InOut("fp32", 33), h=InOut("fp16", 16), b=InOut("bf16", 16), d=InOut("fp64", 16), B=16,
      no_interpreter="no bf16 atomics", tolerance=0.02)
@triton.jit
def float_atomics(x, h, b, d, B: tl.constexpr):
    r = tl.arange(0, B)
    v = r * 0.25 + tl.program_id(0)
    tl.atomic_add(x + r, v)
    tl.atomic_add(h + r, v.to(tl.float16), mask=r < 9)
    tl.atomic_add(b + r, v.to(tl.bfloat16))
    tl.atomic_add(d + r, v.to(tl.float64), sem="relaxed")
    tl.atomic_add(x + 2 * B, 1.0)
    tl.atomic_xchg(x + B + r, 2.0)


@case(grid=(4,), x=Tensor("fp32", 64), m=InOut("fp32", 17), B=16)
@triton.jit
def float_extremes(x, m, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * B + r)
    tl.atomic_max(m + r, v, mask=r < 12)
    tl.atomic_min(m + B, tl.min(v, 0))


@case(grid=(8,), lock=InOut("i32", 1, "zeros"), x=InOut("fp32", 1))
@triton.jit
def spin_lock(lock, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(x, tl.load(x) + 1.0)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case(grid=(4,), x=Tensor("fp32", 256), partial=Out("fp32", 4), count=InOut("i32", 1, "zeros"), z=Out("fp32", 1), B=64)
@triton.jit
def last_program_reduces(x, partial, count, z, B: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(partial + pid, tl.sum(tl.load(x + pid * B + tl.arange(0, B)), 0))
    tl.debug_barrier()
    if tl.atomic_add(count, 1) == tl.num_programs(0) - 1:
        tl.store(z, tl.sum(tl.load(partial + tl.arange(0, 4), volatile=True), 0))
