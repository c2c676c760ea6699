"""Kernels of the error budget: what src/verify/budget.cc does element by element on a CPU (docs/verdicts.md, "The error budget").

A tensor is a flat run of `n` elements in rows of `length`; a program takes tiles of ROWS x COLUMNS elements, ROWS rows at a time.
`exact` is float64. Sums are kept in float64.
"""
import triton
import triton.language as tl

INFINITY = tl.constexpr(float("inf"))
TINY = tl.constexpr(2.2250738585072014e-308)  # the smallest normal float64

SUMS = tl.constexpr(6)  # of a program of measure_rows


@triton.jit
def is_finite(x):
    return tl.abs(x) < INFINITY


@triton.jit
def same_pattern(a, b):
    return (a == b) | ((a != a) & (b != b))


@triton.jit
def measure_rows(exact, eager, wobble, base, row_scale, row_error, sums, n, length, rows, HAS_WOBBLE: tl.constexpr,
                 ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Row by row the largest finite magnitude of `exact` and the largest finite error of `eager` and `wobble`.

    sums (programs, SUMS): squares of exact, squared errors of eager, of wobble, elements whose NaN or Inf differ between exact and
    eager, elements that broke (not finite in exact or eager, but finite in `base`), largest scale.
    """
    square = tl.zeros((ROWS, COLUMNS), tl.float64)
    eager_square = tl.zeros((ROWS, COLUMNS), tl.float64)
    wobble_square = tl.zeros((ROWS, COLUMNS), tl.float64)
    differs = tl.zeros((ROWS, COLUMNS), tl.int32)
    broken = tl.zeros((ROWS, COLUMNS), tl.int32)
    largest = tl.zeros((ROWS,), tl.float64)
    for block in range(tl.program_id(0), (rows + ROWS - 1) // ROWS, tl.num_programs(0)):
        row = block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
        scale = tl.zeros((ROWS, COLUMNS), tl.float64)
        error = tl.zeros((ROWS, COLUMNS), tl.float64)
        for start in range(0, length, COLUMNS):
            column = start + tl.arange(0, COLUMNS)
            at = row[:, None] * length + column[None, :]
            mask = (column[None, :] < length) & (row[:, None] < rows) & (at < n)
            e = tl.load(exact + at, mask=mask, other=0.0)
            g = tl.load(eager + at, mask=mask, other=0.0).to(tl.float64)
            e_finite = is_finite(e)
            bad = (e_finite & is_finite(g)) == 0
            was_good = is_finite(tl.load(base + at, mask=mask & bad, other=INFINITY).to(tl.float64))
            broken += (bad & was_good).to(tl.int32)
            differs += (bad & (same_pattern(e, g) == 0)).to(tl.int32)
            size = tl.where(e_finite, tl.abs(e), 0.0)
            square += size * size
            scale = tl.maximum(scale, size)
            apart = tl.abs(g - e)
            apart = tl.where(is_finite(apart), apart, 0.0)
            eager_square += apart * apart
            error = tl.maximum(error, apart)
            if HAS_WOBBLE:
                moved = tl.abs(tl.load(wobble + at, mask=mask, other=0.0) - e)
                moved = tl.where(is_finite(moved), moved, 0.0)
                wobble_square += moved * moved
                error = tl.maximum(error, moved)
        row_largest = tl.max(scale, 1)
        tl.store(row_scale + row, row_largest, mask=row < rows)
        tl.store(row_error + row, tl.max(error, 1), mask=row < rows)
        largest = tl.maximum(largest, row_largest)
    mine = sums + tl.program_id(0) * SUMS
    tl.store(mine, tl.sum(square))
    tl.store(mine + 1, tl.sum(eager_square))
    tl.store(mine + 2, tl.sum(wobble_square))
    tl.store(mine + 3, tl.sum(differs).to(tl.float64))
    tl.store(mine + 4, tl.sum(broken).to(tl.float64))
    tl.store(mine + 5, tl.max(largest))


@triton.jit
def total_of(sums, which, programs, BLOCK: tl.constexpr):
    total = tl.zeros((), tl.float64)
    for start in range(0, programs, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(sums + at * SUMS + which, mask=at < programs, other=0.0))
    return total


@triton.jit
def bits_of(numbers, there):
    return tl.where(there, numbers, INFINITY).to(tl.float64).to(tl.int64, bitcast=True)


@triton.jit
def halved(low, high, middle, enough):
    return tl.where(enough, low, middle + 1), tl.where(enough, middle, high)


@triton.jit
def medians_of(numbers, one, other):
    """Of the numbers that `one` says are there, and of those of `other`, none of them negative: they are ordered as their bits are,
    hence by bisection; 0 of none. Fewer than 2^15 numbers: each step is one sum, with the two counts in its halves."""
    bits, other_bits = bits_of(numbers, one), bits_of(numbers, other)
    count, other_count = tl.sum(one.to(tl.int32)), tl.sum(other.to(tl.int32))
    low = tl.zeros((), tl.int64)
    high = tl.full((), 0x7FF0000000000000, tl.int64)
    other_low, other_high = low, high
    for _ in range(63):
        middle = low + (high - low) // 2
        other_middle = other_low + (other_high - other_low) // 2
        both = tl.sum((bits <= middle).to(tl.int32) + (other_bits <= other_middle).to(tl.int32) * 65536)
        low, high = halved(low, high, middle, both % 65536 > count // 2)
        other_low, other_high = halved(other_low, other_high, other_middle, both // 65536 > other_count // 2)
    median = tl.where(count > 0, high.to(tl.float64, bitcast=True), 0.0)
    return median, tl.where(other_count > 0, other_high.to(tl.float64, bitcast=True), 0.0)


@triton.jit
def total_rows(sums, row_scale, row_error, totals, programs, stride, samples, multiple, floor, n, BLOCK: tl.constexpr,
               SAMPLES: tl.constexpr):  # fmt: skip
    """Joins what the programs of measure_rows found; one program.

    totals: scale, budget and eager error as root mean squares, typical relative error of a row, number of differing and of broken
    elements, typical relative error of a row that has any. A typical one is the median over `samples` rows, every `stride`-th.
    """
    largest = tl.zeros((), tl.float64)
    for start in range(0, programs, BLOCK):
        at = start + tl.arange(0, BLOCK)
        largest = tl.maximum(largest, tl.max(tl.load(sums + at * SUMS + 5, mask=at < programs, other=0.0)))
    square = total_of(sums, 0, programs, BLOCK)
    error = tl.maximum(total_of(sums, 1, programs, BLOCK), total_of(sums, 2, programs, BLOCK))
    eager = tl.sqrt(error / n)
    tl.store(totals, largest)
    tl.store(totals + 1, multiple / 2 * eager + floor * tl.sqrt(square / n))
    tl.store(totals + 2, eager)
    tl.store(totals + 4, total_of(sums, 3, programs, BLOCK))
    tl.store(totals + 5, total_of(sums, 4, programs, BLOCK))
    sample = tl.arange(0, SAMPLES)
    row = sample.to(tl.int64) * stride
    scale = tl.load(row_scale + row, mask=sample < samples, other=0.0)
    relative = tl.load(row_error + row, mask=sample < samples, other=0.0) / tl.where(scale > 0, scale, 1.0)
    typical, erring = medians_of(relative, scale > 0, (scale > 0) & (relative > 0))
    tl.store(totals + 3, typical)
    tl.store(totals + 6, erring)


@triton.jit
def allowed_of(noise, scale, totals, multiple, floor):
    """The budget of rows with this noise and largest magnitude: those with any noise are judged by their like."""
    typical = tl.where(noise > 0, tl.load(totals + 6), tl.load(totals + 3))
    return multiple * tl.maximum(noise, typical * scale) + floor * scale


@triton.jit
def compare_rows(exact, eager, got, row_scale, row_error, totals, found, n, length, rows, multiple, floor, tolerance,
                 ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Every element's error against the budget of its row.

    found (programs, 4): the largest error in terms of its budget and where it is, elements inside of KernelBench's tolerance, squared
    finite errors.
    """
    rescues = tl.load(totals + 4) > 0  # the declared precision overflows where float64 does not, or the other way round
    worst = tl.full((ROWS, COLUMNS), -1.0, tl.float64)
    place = tl.zeros((ROWS, COLUMNS), tl.int64)
    close = tl.zeros((ROWS, COLUMNS), tl.int32)
    square = tl.zeros((ROWS, COLUMNS), tl.float64)
    for block in range(tl.program_id(0), (rows + ROWS - 1) // ROWS, tl.num_programs(0)):
        row = block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
        scale = tl.load(row_scale + row, mask=row < rows, other=0.0)
        noise = tl.load(row_error + row, mask=row < rows, other=0.0)
        allowed = allowed_of(noise, scale, totals, multiple, floor)
        allowed = tl.maximum(allowed, TINY)[:, None]
        for start in range(0, length, COLUMNS):
            column = start + tl.arange(0, COLUMNS)
            at = row[:, None] * length + column[None, :]
            mask = (column[None, :] < length) & (row[:, None] < rows) & (at < n)
            e = tl.load(exact + at, mask=mask, other=0.0)
            g = tl.load(got + at, mask=mask, other=0.0).to(tl.float64)
            e_finite = is_finite(e)
            error = tl.where(e_finite & is_finite(g), tl.abs(g - e), tl.where(same_pattern(g, e), 0.0, INFINITY))
            if rescues:
                w = tl.load(eager + at, mask=mask, other=0.0).to(tl.float64)
                rescued = is_finite(w) & (e_finite == 0) & is_finite(g)
                error = tl.where(same_pattern(g, w) | rescued, 0.0, error)
            near = (error <= tolerance * tl.abs(e) + tolerance) | ((error == 0) & (e_finite == 0))
            close += (near & mask).to(tl.int32)
            square += tl.where(is_finite(error), error * error, 0.0)
            ratio = tl.where(mask, tl.where(error == 0, 0.0, error / allowed), -1.0)
            worse = ratio > worst
            worst = tl.where(worse, ratio, worst)
            place = tl.where(worse, at, place)
    top = tl.max(worst)
    mine = found + tl.program_id(0) * 4
    tl.store(mine, top)
    tl.store(mine + 1, tl.min(tl.where(worst == top, place, 0x7FFFFFFFFFFFFFFF)).to(tl.float64))
    tl.store(mine + 2, tl.sum(close).to(tl.float64))
    tl.store(mine + 3, tl.sum(square))


@triton.jit
def join_compared(exact, got, row_scale, row_error, totals, found, result, programs, length, multiple, floor,
                  BLOCK: tl.constexpr):  # fmt: skip
    """Joins what the programs of compare_rows found; one program.

    result: the largest ratio, its place, number of close elements, squared errors, and there: expected, got, budget, eager error.
    """
    worst = tl.full((), -1.0, tl.float64)
    close = tl.zeros((), tl.float64)
    square = tl.zeros((), tl.float64)
    for start in range(0, programs, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < programs
        worst = tl.maximum(worst, tl.max(tl.load(found + at * 4, mask=mask, other=-1.0)))
        close += tl.sum(tl.load(found + at * 4 + 2, mask=mask, other=0.0))
        square += tl.sum(tl.load(found + at * 4 + 3, mask=mask, other=0.0))
    first = tl.full((), INFINITY, tl.float64)
    for start in range(0, programs, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < programs
        ratio = tl.load(found + at * 4, mask=mask, other=-2.0)
        places = tl.load(found + at * 4 + 1, mask=mask, other=0.0)
        first = tl.minimum(first, tl.min(tl.where(ratio == worst, places, INFINITY)))
    place = first.to(tl.int64)
    scale = tl.load(row_scale + place // length)
    noise = tl.load(row_error + place // length)
    tl.store(result, worst)
    tl.store(result + 1, first)
    tl.store(result + 2, close)
    tl.store(result + 3, square)
    tl.store(result + 4, tl.load(exact + place))
    tl.store(result + 5, tl.load(got + place).to(tl.float64))
    tl.store(result + 6, allowed_of(noise, scale, totals, multiple, floor))
    tl.store(result + 7, noise)
