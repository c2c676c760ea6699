"""Kernels of the error budget: what src/verify/budget.cc does element by element on a CPU (docs/verdicts.md, "The error budget").

A tensor is a flat run of `n` elements in rows of `length`. A tile is ROWS rows of STEPS * LANES columns, as ROWS x STEPS x LANES: lanes
are neighbours in memory, and steps are what one thread has (threads are dealt out over lanes, then rows), so that it finds the largest of
them by itself; more than one row only where a row is no longer than the tile. `exact` is float64. Sums are kept in float64.
"""
import triton
import triton.language as tl

INFINITY = tl.constexpr(float("inf"))
TINY32 = tl.constexpr(1.1754943508222875e-38)  # the smallest normal float32

LEAST_FILL = tl.constexpr(1000.0)  # src/verify/budget_fill.h
FILLS_OF_LARGEST = tl.constexpr(16.0)

SUMS = tl.constexpr(8)  # of a program of measure_rows


@triton.jit
def is_finite(x):
    return tl.abs(x) < INFINITY


@triton.jit
def same_pattern(a, b):
    return (a == b) | ((a != a) & (b != b))


@triton.jit
def larger(a, b):  # none is NaN: half the instructions of tl.maximum
    return tl.where(a > b, a, b)


@triton.jit
def fills_of(totals):
    """Whether there are fills, and from which magnitude on (infinite: there are none)."""
    least = tl.load(totals + 10)
    return least > 0, tl.where(least > 0, least, INFINITY)


@triton.jit
def is_fill(e, least):
    return (tl.abs(e) >= least) & is_finite(e)


@triton.jit
def fills_allowed(totals, multiple, floor):
    return multiple * tl.load(totals + 11) + floor * tl.load(totals)


@triton.jit
def places_of(row, start, n, length, ROWS: tl.constexpr, STEPS: tl.constexpr, LANES: tl.constexpr):
    """The tile at this row and column: where its rows start, its elements from there, and which of them there are."""
    first = row.to(tl.int64) * length
    left = tl.minimum(n - first, 0x7FFFFFFF).to(tl.int32)
    rows = tl.arange(0, ROWS)
    columns = (tl.arange(0, STEPS) * LANES)[None, :, None] + tl.arange(0, LANES)[None, None, :]
    ends = tl.minimum(left - rows * length, length) - start
    return first + start + (rows * length)[:, None, None], columns, columns < ends[:, None, None]


@triton.jit
def measure_rows(exact, eager, wobble, base, row_scale, row_error, sums, totals, n, length, rows, again, HAS_WOBBLE: tl.constexpr,
                 ROWS: tl.constexpr, STEPS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Row by row the largest finite magnitude of `exact` and the largest finite error of `eager` and `wobble`.

    sums (programs, SUMS): squares of exact, squared errors of eager, of wobble, elements whose NaN or Inf differ between exact and
    eager, elements that broke (not finite in exact or eager, but finite in `base`), largest scale, largest error, largest error of fills.
    `again`: only where there are fills, and without them but for their own error.
    """
    fills, least = fills_of(totals)
    wanted = (again == 0) | fills
    fill_error = tl.zeros((ROWS, LANES), tl.float64)
    square = tl.zeros((ROWS, LANES), tl.float64)
    eager_square = tl.zeros((ROWS, LANES), tl.float64)
    wobble_square = tl.zeros((ROWS, LANES), tl.float64)
    odd = tl.zeros((ROWS, LANES), tl.int32)
    largest = tl.zeros((ROWS,), tl.float64)
    largest_error = tl.zeros((ROWS,), tl.float64)
    blocks = tl.where(wanted, (rows + ROWS - 1) // ROWS, 0)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        scale = tl.zeros((ROWS, LANES), tl.float64)
        error = tl.zeros((ROWS, LANES), tl.float64)
        for start in range(0, length, STEPS * LANES):
            first, at, mask = places_of(block * ROWS, start, n, length, ROWS, STEPS, LANES)
            e = tl.load(exact + first + at, mask=mask, other=0.0)
            g = tl.load(eager + first + at, mask=mask, other=0.0).to(tl.float64)
            size = tl.where(tl.abs(e) < least, tl.abs(e), 0.0)
            square += tl.sum(size * size, 1)
            scale = larger(scale, tl.reduce(size, 1, larger))
            apart = tl.abs(g - e)
            good = apart < INFINITY
            odd += tl.sum((good == 0).to(tl.int32), 1)
            apart = tl.where(good, apart, 0.0)
            if fills:
                fill_error = larger(fill_error, tl.reduce(tl.where(tl.abs(e) < least, 0.0, apart), 1, larger))
                apart = tl.where(tl.abs(e) < least, apart, 0.0)
            eager_square += tl.sum(apart * apart, 1)
            error = larger(error, tl.reduce(apart, 1, larger))
            if HAS_WOBBLE:
                moved = tl.abs(tl.load(wobble + first + at, mask=mask, other=0.0) - e)
                moved = tl.where(moved < INFINITY, moved, 0.0)
                if fills:
                    fill_error = larger(fill_error, tl.reduce(tl.where(tl.abs(e) < least, 0.0, moved), 1, larger))
                    moved = tl.where(tl.abs(e) < least, moved, 0.0)
                wobble_square += tl.sum(moved * moved, 1)
                error = larger(error, tl.reduce(moved, 1, larger))
        row_largest = tl.reduce(scale, 1, larger)
        row = block * ROWS + tl.arange(0, ROWS)
        tl.store(row_scale + row, row_largest, mask=row < rows)
        row_largest_error = tl.reduce(error, 1, larger)
        tl.store(row_error + row, row_largest_error, mask=row < rows)
        largest = larger(largest, row_largest)
        largest_error = larger(largest_error, row_largest_error)
    mine = sums + tl.program_id(0) * SUMS
    tl.store(mine, tl.sum(square), mask=wanted)
    tl.store(mine + 1, tl.sum(eager_square), mask=wanted)
    tl.store(mine + 2, tl.sum(wobble_square), mask=wanted)
    tl.store(mine + 5, tl.max(largest), mask=wanted)
    tl.store(mine + 6, tl.max(largest_error), mask=wanted)
    tl.store(mine + 7, tl.max(fill_error), mask=wanted)
    differs = tl.zeros((ROWS, LANES), tl.int32)
    broken = tl.zeros((ROWS, LANES), tl.int32)
    if tl.sum(odd) > 0:  # rare: where NaN and Inf stand is looked at in a second round
        for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
            for start in range(0, length, STEPS * LANES):
                first, at, mask = places_of(block * ROWS, start, n, length, ROWS, STEPS, LANES)
                e = tl.load(exact + first + at, mask=mask, other=0.0)
                g = tl.load(eager + first + at, mask=mask, other=0.0).to(tl.float64)
                bad = (is_finite(e) & is_finite(g)) == 0
                was_good = is_finite(tl.load(base + first + at, mask=mask & bad, other=INFINITY).to(tl.float64))
                differs += tl.sum((bad & (same_pattern(e, g) == 0)).to(tl.int32), 1)
                broken += tl.sum((bad & was_good).to(tl.int32), 1)
    tl.store(mine + 3, tl.sum(differs).to(tl.float64), mask=wanted)
    tl.store(mine + 4, tl.sum(broken).to(tl.float64), mask=wanted)


@triton.jit
def find_rest(exact, totals, rest, n, BLOCK: tl.constexpr):
    """The largest magnitude below a part of the largest of all, where that may be a fill. `rest` is zero before, float64 as its bits."""
    largest = tl.load(totals)
    below = largest / FILLS_OF_LARGEST
    found = tl.zeros((BLOCK,), tl.float64)
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, tl.where(largest >= LEAST_FILL, n, 0), tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        size = tl.abs(tl.load(exact + at, mask=at < n, other=0.0))
        found = larger(found, tl.where(size < below, size, 0.0))
    most = tl.reduce(found, 0, larger)
    tl.atomic_max(rest, most.to(tl.int64, bitcast=True), mask=most > 0, sem="relaxed")


@triton.jit
def choose_fill(totals, gap):
    """From which magnitude on elements are fills (src/verify/budget_fill.h); 0: none is. One program."""
    largest, rest = tl.load(totals), tl.load(totals + 8)
    apart = (largest >= LEAST_FILL) & (rest > 0) & (rest * gap <= largest)
    tl.store(totals + 10, tl.where(apart, largest / FILLS_OF_LARGEST, 0.0))


@triton.jit
def measure_columns(exact, eager, wobble, column_scale, column_error, totals, period, lines, shift, parts, HAS_WOBBLE: tl.constexpr,
                    ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Column by column what measure_rows finds row by row. A column is elements line * period + (column << shift) + k, k < 2^shift, of
    all lines. Both outputs are zero before, and float64 as its bits, which are ordered as numbers that are not negative.
    """
    fills, least = fills_of(totals)
    program = tl.program_id(0).to(tl.int64)
    column = program // parts * COLUMNS + tl.arange(0, COLUMNS)
    scale = tl.zeros((ROWS, COLUMNS), tl.float64)
    error = tl.zeros((ROWS, COLUMNS), tl.float64)
    for first in range(program % parts * ROWS, lines << shift, parts * ROWS):
        member = first + tl.arange(0, ROWS)
        line = member >> shift
        place = (column << shift)[None, :] + (member - (line << shift))[:, None]
        at = (line * period)[:, None] + place
        mask = (line < lines)[:, None] & (place < period)
        e = tl.load(exact + at, mask=mask, other=0.0)
        apart = tl.abs(tl.load(eager + at, mask=mask, other=0.0).to(tl.float64) - e)
        mine = tl.abs(e) < least
        scale = larger(scale, tl.where(mine, tl.abs(e), 0.0))
        error = larger(error, tl.where(mine & (apart < INFINITY), apart, 0.0))
        if HAS_WOBBLE:
            moved = tl.abs(tl.load(wobble + at, mask=mask, other=0.0) - e)
            error = larger(error, tl.where(mine & (moved < INFINITY), moved, 0.0))
    there = (column << shift) < period
    scales = tl.reduce(scale, 0, larger).to(tl.int64, bitcast=True)
    errors = tl.reduce(error, 0, larger).to(tl.int64, bitcast=True)
    tl.atomic_max(column_scale + column, scales, mask=there, sem="relaxed")
    tl.atomic_max(column_error + column, errors, mask=there, sem="relaxed")


@triton.jit
def allow_columns(column_scale, column_error, totals, column_allowed, matters, count, multiple, share, floor, BLOCK: tl.constexpr):
    """The budgets of columns (src/verify/budget_columns.h), as float32. `matters`, zero before, where any is less than a row's may be."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    scale = tl.load(column_scale + at, mask=mask, other=0.0)
    allowed = multiple * tl.load(column_error + at, mask=mask, other=0.0) + share * scale + floor * tl.minimum(tl.load(totals), 1.0)
    allowed = tl.where(scale > 0, tl.maximum(allowed.to(tl.float32), TINY32), INFINITY)
    tl.store(column_allowed + at, allowed, mask=mask)
    strict = tl.sum((mask & (allowed < tl.load(totals + 7))).to(tl.int32))
    tl.atomic_max(matters, strict.to(tl.int64), mask=strict > 0, sem="relaxed")


@triton.jit
def bits_of(numbers, there):
    return tl.where(there, numbers, INFINITY).to(tl.float64).to(tl.int64, bitcast=True)


@triton.jit
def halved(low, high, below, upto, middle, count, rank):
    enough = count > rank
    return tl.where(enough, low, middle + 1), tl.where(enough, middle, high), tl.where(enough, below, count), tl.where(enough, count, upto)


@triton.jit
def two_ranked(numbers, one, rank, other, other_rank):
    """Of the numbers that `one` says are there the one of this rank (0: the least), and of those of `other`, which are part of them, none
    of them negative: they are ordered as their bits are, hence by bisection; 0 of none. Fewer than 2^15 numbers: each step is one sum,
    with the two counts in its halves.

    `below` of the numbers are less than `low`, `upto` at most `high`. It ends when a single one is left between, the least of those
    from `low` on: at once where the least one of all is that of the rank (most of an output may be exact), at a dozen steps where numbers
    are scattered, at 63 where many are equal.
    """
    bits, other_bits = bits_of(numbers, one), bits_of(numbers, other)
    upto, other_upto = tl.sum(one.to(tl.int32)), tl.sum(other.to(tl.int32))
    some, other_some = upto > 0, other_upto > 0
    low, other_low = tl.min(bits), tl.min(other_bits)
    high = tl.maximum(tl.max(tl.where(one, bits, 0)), low)
    other_high = tl.maximum(high, other_low)
    least = tl.sum((bits <= low).to(tl.int32) + (other_bits <= other_low).to(tl.int32) * 65536)
    high = tl.where(least % 65536 > rank, low, high)
    other_high = tl.where(least // 65536 > other_rank, other_low, other_high)
    below = tl.zeros((), tl.int32)
    other_below = below
    while ((upto - below > 1) & (low < high)) | ((other_upto - other_below > 1) & (other_low < other_high)):
        middle = low + (high - low) // 2
        other_middle = other_low + (other_high - other_low) // 2
        both = tl.sum((bits <= middle).to(tl.int32) + (other_bits <= other_middle).to(tl.int32) * 65536)
        low, high, below, upto = halved(low, high, below, upto, middle, both % 65536, rank)
        other_low, other_high, other_below, other_upto = halved(other_low, other_high, other_below, other_upto, other_middle,
                                                                both // 65536, other_rank)  # fmt: skip
    found = tl.min(tl.where(bits >= low, bits, 0x7FF0000000000000)).to(tl.float64, bitcast=True)
    other_found = tl.min(tl.where(other_bits >= other_low, other_bits, 0x7FF0000000000000)).to(tl.float64, bitcast=True)
    return tl.where(some, found, 0.0), tl.where(other_some, other_found, 0.0)


@triton.jit
def medians_of(numbers, one, other):
    return two_ranked(numbers, one, tl.sum(one.to(tl.int32)) // 2, other, tl.sum(other.to(tl.int32)) // 2)


@triton.jit
def total_rows(sums, row_scale, row_error, totals, programs, stride, samples, multiple, floor, n, again, BLOCK: tl.constexpr,
               SAMPLES: tl.constexpr):  # fmt: skip
    """Joins what the programs of measure_rows found, at most BLOCK; one program.

    totals: scale, budget and eager error as root mean squares, typical relative error of a row, number of differing and of broken
    elements, typical relative error of a row that has any, a bound of all rows' budgets, behind three of find_rest and choose_fill the
    largest error of fills. A typical one is the median over `samples` rows, every `stride`-th. `again`: only where there are fills; the
    scale stays that of all.
    """
    fills, _ = fills_of(totals)
    wanted = (again == 0) | fills
    samples = tl.where(wanted, samples, 0)
    spare = tl.where(fills, floor, 0.0)
    at = tl.arange(0, BLOCK)
    mask = at < programs
    squares = tl.load(sums + at * SUMS, mask=mask, other=0.0)  # all are on their way before the first is needed
    eager_squares = tl.load(sums + at * SUMS + 1, mask=mask, other=0.0)
    wobble_squares = tl.load(sums + at * SUMS + 2, mask=mask, other=0.0)
    differing = tl.load(sums + at * SUMS + 3, mask=mask, other=0.0)
    broken = tl.load(sums + at * SUMS + 4, mask=mask, other=0.0)
    scales = tl.load(sums + at * SUMS + 5, mask=mask, other=0.0)
    errors = tl.load(sums + at * SUMS + 6, mask=mask, other=0.0)
    fill_errors = tl.load(sums + at * SUMS + 7, mask=mask, other=0.0)
    sample = tl.arange(0, SAMPLES)
    row = sample.to(tl.int64) * stride
    scale = tl.load(row_scale + row, mask=sample < samples, other=0.0)
    noise = tl.load(row_error + row, mask=sample < samples, other=0.0)
    eager = tl.sqrt(tl.maximum(tl.sum(eager_squares), tl.sum(wobble_squares)) / n)
    tl.store(totals, tl.max(scales), mask=again == 0)
    tl.store(totals + 1, multiple / 2 * eager + floor * tl.sqrt(tl.sum(squares) / n) + spare, mask=wanted)
    tl.store(totals + 2, eager, mask=wanted)
    tl.store(totals + 4, tl.sum(differing), mask=wanted)
    tl.store(totals + 5, tl.sum(broken), mask=wanted)
    relative = tl.where(noise > 0, noise / tl.where(scale > 0, scale, 1.0), 0.0)
    typical, erring = medians_of(relative, scale > 0, (scale > 0) & (relative > 0))
    tl.store(totals + 3, typical, mask=wanted)
    tl.store(totals + 6, erring, mask=wanted)
    most = multiple * tl.maximum(tl.max(errors), tl.maximum(typical, erring) * tl.max(scales)) + floor * tl.max(scales) + spare
    tl.store(totals + 7, most, mask=wanted)
    tl.store(totals + 11, tl.max(fill_errors), mask=wanted)
