"""Kernels on plain bytes: the bands around buffers of a replay (src/verify/guard_bands.h), and equality of memory."""
import triton
import triton.language as tl

PATTERN = tl.constexpr(-91)  # 0xa5 as a signed byte


@triton.jit
def fill_bands(front, back, front_bytes, back_bytes, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(front + at, tl.full((BLOCK,), PATTERN, tl.int8), mask=at < front_bytes)
    tl.store(back + at, tl.full((BLOCK,), PATTERN, tl.int8), mask=at < back_bytes)


@triton.jit
def check_bands(front, back, front_bytes, back_bytes, broken, BLOCK: tl.constexpr):
    """Adds the number of bytes that are not as they were."""
    at = tl.arange(0, BLOCK)
    before = tl.load(front + at, mask=at < front_bytes, other=PATTERN) != PATTERN
    behind = tl.load(back + at, mask=at < back_bytes, other=PATTERN) != PATTERN
    tl.atomic_add(broken, tl.sum(before.to(tl.int32)) + tl.sum(behind.to(tl.int32)))


@triton.jit
def count_different(a, b, different, n, BLOCK: tl.constexpr):
    """Adds the number of elements whose bits differ."""
    count = tl.zeros((BLOCK,), tl.int32)
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        at = start + tl.arange(0, BLOCK)
        mask = at < n
        count += (tl.load(a + at, mask=mask, other=0) != tl.load(b + at, mask=mask, other=0)).to(tl.int32)
    total = tl.sum(count)
    if total > 0:
        tl.atomic_add(different, total)
