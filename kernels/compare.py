"""Kernels that compare an output with its error budget, which those of kernels/measure.py have made: what src/verify/budget.cc does
element by element on a CPU. Tiles and arguments are as there.
"""
import triton
import triton.language as tl

from kernels.measure import INFINITY, TINY32, fills_allowed, fills_of, is_fill, is_finite, larger, places_of, same_pattern

TINY = tl.constexpr(2.2250738585072014e-308)  # the smallest normal float64


@triton.jit
def allowed_of(noise, scale, typical, erring, multiple, floor, spare):
    """The budget of rows with this noise and largest magnitude: those with any noise are judged by their like."""
    return multiple * tl.maximum(noise, tl.where(noise > 0, erring, typical) * scale) + floor * scale + spare


@triton.jit
def error_of(e, g):
    """Infinite where NaN or Inf do not match: only there can the difference be infinite or NaN."""
    apart = tl.abs(g - e)
    return tl.where(apart < INFINITY, apart, tl.where(same_pattern(g, e), 0.0, INFINITY))


@triton.jit
def excused(error, e, g, w):
    """The same where the declared precision gives `w`: it overflows where float64 does not, or the other way round."""
    rescued = is_finite(w) & (is_finite(e) == 0) & is_finite(g)
    return tl.where(same_pattern(g, w) | rescued, 0.0, error)


@triton.jit
def errors_at(exact, eager, got, at, mask, rescues):
    """What is expected there, what there is, and its error: none below the declared precision's smallest normal number."""
    e = tl.load(exact + at, mask=mask, other=0.0)
    g = tl.load(got + at, mask=mask, other=0.0).to(tl.float64)
    error = error_of(e, g)
    if eager.dtype.element_ty == tl.float64:
        error = tl.where(error <= TINY, 0.0, error)
    elif eager.dtype.element_ty != tl.float16:
        error = tl.where(error <= TINY32, 0.0, error)
    if rescues:
        error = excused(error, e, g, tl.load(eager + at, mask=mask, other=0.0).to(tl.float64))
    return e, g, error


@triton.jit
def ratio_of(error, allowed):
    """To divide zero or infinity takes a GPU ten times as long."""
    some = (error > 0) & (error < INFINITY)
    return tl.where(some, tl.where(some, error, 1.0) / tl.maximum(allowed, TINY), error)


@triton.jit
def column_of(first, at, n, length, period, shift):
    """Of places of rows of this length from `first` on. It seldom takes a division for each, nor one of 64 bits."""
    if n <= 0x7FFFFFFF:
        place = (first.to(tl.int32) % period.to(tl.int32)).to(tl.int64) + at
    else:
        place = first % period + at
    if length <= period:
        place = tl.where(place >= period, place - period, place)
    else:
        place = (place.to(tl.int32) % period.to(tl.int32)).to(tl.int64)
    return place >> shift


@triton.jit
def columns_matter(matters, period):
    return tl.load(matters, mask=period > 0, other=0) > 0


@triton.jit
def compare_rows(exact, eager, got, row_scale, row_error, column_allowed, matters, totals, found, n, length, rows, period, shift, multiple,
                 floor, tolerance, ROWS: tl.constexpr, STEPS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Every element's error against the budget of its row and, where it is over that, of its column (`period` 0: there are none;
    `matters` 0: none is over that).

    found (programs, 4): the largest error in terms of its budget, the first tile that has it, elements outside of KernelBench's
    tolerance, squared finite errors. Of a row the largest error is the one divided: rounding is monotonic, so that the ratio is the
    largest one to the last bit.
    """
    typical, erring = tl.load(totals + 3), tl.load(totals + 6)
    rescues = tl.load(totals + 4) > 0
    fills, least = fills_of(totals)
    spare = tl.where(fills, floor, 0.0)
    worst = tl.full((ROWS, LANES), -1.0, tl.float64)
    place = tl.zeros((ROWS, LANES), tl.int32)
    far = tl.zeros((ROWS, LANES), tl.int32)
    square = tl.zeros((ROWS, LANES), tl.float64)
    chunks = (length + STEPS * LANES - 1) // (STEPS * LANES)
    for tile in range(tl.program_id(0), (rows + ROWS - 1) // ROWS * chunks, tl.num_programs(0)):
        block = tile // chunks
        first, at, mask = places_of(block * ROWS, (tile - block * chunks) * (STEPS * LANES), n, length, ROWS, STEPS, LANES)
        row = block * ROWS + tl.arange(0, ROWS)
        scale = tl.load(row_scale + row, mask=row < rows, other=0.0)
        noise = tl.load(row_error + row, mask=row < rows, other=0.0)
        e, g, error = errors_at(exact + first, eager + first, got + first, at, mask, rescues)
        near = (error <= tolerance * tl.abs(e) + tolerance) | (error == 0)
        far += tl.sum((near == 0).to(tl.int32), 1)
        if fills:
            error = tl.where(is_fill(e, least), 0.0, error)
        finite = tl.where(error < INFINITY, error, 0.0)
        square += tl.sum(finite * finite, 1)
        ratio = ratio_of(tl.reduce(error, 1, larger), allowed_of(noise, scale, typical, erring, multiple, floor, spare)[:, None])
        place = tl.where(ratio > worst, tile, place)
        worst = larger(ratio, worst)
    strict = columns_matter(matters, period)
    if strict | fills:  # rare
        allowed = fills_allowed(totals, multiple, floor)
        for tile in range(tl.program_id(0), (rows + ROWS - 1) // ROWS * chunks, tl.num_programs(0)):
            block = tile // chunks
            first, at, mask = places_of(block * ROWS, (tile - block * chunks) * (STEPS * LANES), n, length, ROWS, STEPS, LANES)
            e, g, error = errors_at(exact + first, eager + first, got + first, at, mask, rescues)
            column = column_of(first, at, n, length, period, shift)
            most = tl.load(column_allowed + column, mask=mask & strict, other=INFINITY).to(tl.float64)
            apart = is_fill(e, least)
            most = tl.where(apart, allowed, most)
            ratio = tl.reduce(tl.where(apart | (error > most), ratio_of(error, most), 0.0), 1, larger)
            place = tl.where((ratio > worst) | ((ratio == worst) & (tile < place)), tile, place)
            worst = larger(ratio, worst)
    top = tl.max(worst)
    mine = found + tl.program_id(0) * 4
    tl.store(mine, top)
    tl.store(mine + 1, tl.min(tl.where(worst == top, place, 0x7FFFFFFF)).to(tl.float64))
    tl.store(mine + 2, tl.sum(far).to(tl.float64))
    tl.store(mine + 3, tl.sum(square))


@triton.jit
def join_compared(exact, eager, got, row_scale, row_error, column_allowed, column_error, matters, totals, found, result, programs, n, length,
                  rows, period, shift, tile_rows, tile_columns, multiple, floor, BLOCK: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """Joins what the programs of compare_rows found, at most BLOCK, and finds the place in the tile, at most TILE elements; one program.

    result: the largest ratio, its place, number of close elements, squared errors, and there: expected, got, budget, eager error, whose
    budget it is (0: the row's, 1: the column's, 2: the fills').
    """
    mine = found + tl.arange(0, BLOCK) * 4
    mask = tl.arange(0, BLOCK) < programs
    ratios = tl.load(mine, mask=mask, other=-2.0)
    tiles = tl.load(mine + 1, mask=mask, other=INFINITY)
    far = tl.load(mine + 2, mask=mask, other=0.0)
    square = tl.load(mine + 3, mask=mask, other=0.0)
    typical, erring, rescues = tl.load(totals + 3), tl.load(totals + 6), tl.load(totals + 4) > 0
    worst = tl.max(ratios)
    tl.store(result, worst)
    tl.store(result + 2, n - tl.sum(far))
    tl.store(result + 3, tl.sum(square))
    tile = tl.min(tl.where(ratios == worst, tiles, INFINITY)).to(tl.int32)
    chunks = (length + tile_columns - 1) // tile_columns
    inside = tl.arange(0, TILE)
    row = tile // chunks * tile_rows + inside // tile_columns
    column = tile % chunks * tile_columns + inside % tile_columns
    at = row.to(tl.int64) * length + column
    mask = (inside < tile_rows * tile_columns) & (row < rows) & (column < length) & (at < n)
    e, g, error = errors_at(exact, eager, got, at, mask, rescues)
    noise = tl.load(row_error + row, mask=mask, other=0.0)
    fills, least = fills_of(totals)
    spare = tl.where(fills, floor, 0.0)
    allowed = allowed_of(noise, tl.load(row_scale + row, mask=mask, other=0.0), typical, erring, multiple, floor, spare)
    apart = is_fill(e, least)
    allowed = tl.where(apart, fills_allowed(totals, multiple, floor), allowed)
    noise = tl.where(apart, tl.load(totals + 11), noise)
    beside = tl.where(apart, 2, 0)
    ratio = ratio_of(error, allowed)
    if columns_matter(matters, period):
        whose = at % period >> shift
        most = tl.load(column_allowed + whose, mask=mask, other=INFINITY).to(tl.float64)
        by_column = tl.where(error > most, ratio_of(error, most), 0.0)
        decides = (by_column > ratio) & (apart == 0)
        beside = tl.where(decides, 1, beside)
        allowed = tl.where(decides, most, allowed)
        noise = tl.where(decides, tl.load(column_error + whose, mask=mask, other=0.0), noise)
        ratio = tl.where(decides, by_column, ratio)
    ratio = tl.where(mask, ratio, -1.0)
    place = tl.min(tl.where(ratio == tl.max(ratio), at, 0x7FFFFFFFFFFFFFFF))
    there = mask & (at == place)
    tl.store(result + 1, place.to(tl.float64))
    tl.store(result + 4 + inside * 0, e, mask=there)
    tl.store(result + 5 + inside * 0, g, mask=there)
    tl.store(result + 6 + inside * 0, allowed, mask=there)
    tl.store(result + 7 + inside * 0, noise, mask=there)
    tl.store(result + 8 + inside * 0, beside.to(tl.float64), mask=there)
