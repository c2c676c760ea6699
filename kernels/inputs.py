"""Kernels that make the inputs of trials from generated ones: what src/verify/inputs.cc does by tensor operations.

A tensor is a flat run of `n` < 2^31 elements; of what dimension `d` is the index, (position // stride_d) % size_d, as in every dense layout.
Random numbers come from Philox with (seed, stream) as key and the position as counter.
"""
import triton
import triton.language as tl

INFINITY = tl.constexpr(float("inf"))
STATISTICS = tl.constexpr(8)
LONG_LINE = tl.constexpr(8)


@triton.jit
def statistics(x, sums, n, BLOCK: tl.constexpr):
    """sums (programs, 8): sum, sum of squares (both of x minus its first element), least, largest, whether all are one of these two."""
    origin = tl.load(x).to(tl.float64)
    total = tl.zeros((), tl.float64)
    square = tl.zeros((), tl.float64)
    least = tl.full((), INFINITY, tl.float64)
    largest = tl.full((), -INFINITY, tl.float64)
    two = tl.full((), 1, tl.int32)
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        at = start + tl.arange(0, BLOCK)
        mask = at < n
        v = tl.load(x + at, mask=mask, other=0.0).to(tl.float64)
        apart = tl.where(mask, v - origin, 0.0)
        total += tl.sum(apart)
        square += tl.sum(apart * apart)
        low = tl.minimum(least, tl.min(tl.where(mask, v, INFINITY)))
        high = tl.maximum(largest, tl.max(tl.where(mask, v, -INFINITY)))
        # Those of earlier blocks are still the only ones, when they are.
        both = ((v == low) | (v == high)) | (mask == 0)
        kept = ((least == low) | (least == high) | (least == INFINITY)) & ((largest == low) | (largest == high) | (largest == -INFINITY))
        two = two & tl.min(both.to(tl.int32)) & kept.to(tl.int32)
        least = low
        largest = high
    mine = sums + tl.program_id(0) * STATISTICS
    tl.store(mine, total)
    tl.store(mine + 1, square)
    tl.store(mine + 2, least)
    tl.store(mine + 3, largest)
    tl.store(mine + 4, two.to(tl.float64))


@triton.jit
def join_statistics(x, sums, stats, programs, n, BLOCK: tl.constexpr):
    """stats: mean, spread (standard deviation, else the largest magnitude, else one), least, largest, two-valued or not, largest
    magnitude. `programs` is at most BLOCK; one program."""
    at = tl.arange(0, BLOCK)
    mask = at < programs
    total = tl.sum(tl.load(sums + at * STATISTICS, mask=mask, other=0.0))
    square = tl.sum(tl.load(sums + at * STATISTICS + 1, mask=mask, other=0.0))
    lows = tl.load(sums + at * STATISTICS + 2, mask=mask, other=INFINITY)
    highs = tl.load(sums + at * STATISTICS + 3, mask=mask, other=-INFINITY)
    twos = tl.load(sums + at * STATISTICS + 4, mask=mask, other=1.0)
    least = tl.min(lows)
    largest = tl.max(highs)
    fits = ((lows == least) | (lows == largest)) & ((highs == least) | (highs == largest)) & (twos > 0)
    two = (tl.min((fits | (mask == 0)).to(tl.int32)) == 1) & (least < largest) & (n >= 3)
    count = n.to(tl.float64)
    variance = (square - total * total / count) / tl.maximum(count - 1, 1.0)
    deviation = tl.sqrt(tl.maximum(variance, 0.0))
    size = tl.maximum(tl.abs(least), tl.abs(largest))
    usable = (deviation > 0) & (deviation < INFINITY) & (n > 1)
    spread = tl.where(usable, deviation, tl.where((size > 0) & (size < INFINITY), size, 1.0))
    tl.store(stats, tl.load(x).to(tl.float64) + total / count)
    tl.store(stats + 1, spread)
    tl.store(stats + 2, least)
    tl.store(stats + 3, largest)
    tl.store(stats + 4, two.to(tl.float64))
    tl.store(stats + 5, size)


@triton.jit
def uniform4(seed, stream: tl.constexpr, at):
    """Four numbers in [0, 1) for each position."""
    counter = at.to(tl.uint32)
    zero = counter * 0
    a, b, c, d = tl.philox(seed, counter, zero + stream, zero, zero)
    return tl.uint_to_uniform_float(a), tl.uint_to_uniform_float(b), tl.uint_to_uniform_float(c), tl.uint_to_uniform_float(d)


@triton.jit
def in_slice(at, size, stride, u):
    """Whether a position is in the slice that u in [0, 1) says, along a dimension of more than two."""
    return (size > 2) & ((at // stride) % size == (u * size).to(tl.int32))


@triton.jit
def side_of_end(at, index, size, stride, seed):
    """1 or -1 at the two ends of a line that is long enough for these to be few of it, which is which by the line's number; else 0."""
    line = (at - index * stride).to(tl.uint32) + seed.to(tl.uint32) * 0x9E3779B9 + stride.to(tl.uint32)
    line = (line ^ (line >> 16)) * 0x7FEB352D
    line = (line ^ (line >> 15)) * 0x846CA68B
    side = 1 - 2 * ((line >> 16) & 1).to(tl.int32)
    long = size >= LONG_LINE
    return tl.where(long & (index == 0), side, tl.where(long & (index == size - 1), -side, 0))


@triton.jit
def power_of_ten(x):
    return tl.exp2(x * 3.321928094887362)


@triton.jit
def transform(x, out, stats, seed, n, strength, number, step, size0, stride0, size1, stride1, size2, stride2, size3, stride3,
              KIND: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One distribution of src/verify/inputs.h. A tensor of at most two different values is only permuted.

    number: shifted: the shift in spreads; spikes: the share of them; scaled: the largest magnitude; swings: elements between jumps.
    step: coprime to n, for permutations. The first dimension is the one whose slices differ (spread, shifted).
    """
    far = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = far < n
    at = far.to(tl.int32)  # divisions in 64 bits take several times as long
    mean = tl.load(stats)
    spread = tl.load(stats + 1)
    two_valued = tl.load(stats + 4) > 0
    v = tl.load(x + far, mask=mask, other=0.0).to(tl.float64)
    a, b, c, d = uniform4(seed, 0, at)
    sign = tl.where(a < 0.5, -1.0, 1.0)
    if KIND == "spread":
        u, _, _, _ = uniform4(seed, 1, (at // stride0) % size0)
        changed = v * sign * power_of_ten(1.5 * strength * (2 * u - 1))
    elif KIND == "flipped":
        changed = -v
    elif KIND == "shifted":
        u, _, _, _ = uniform4(seed, 1, (at // stride0) % size0)
        changed = v + (2 * u - 1 + number) * (strength * spread)
    elif KIND == "spikes":
        i0 = (at // stride0) % size0
        i1 = (at // stride1) % size1
        i2 = (at // stride2) % size2
        i3 = (at // stride3) % size3
        side = side_of_end(at, i0, size0, stride0, seed)
        side = tl.where(side == 0, side_of_end(at, i1, size1, stride1, seed), side)
        side = tl.where(side == 0, side_of_end(at, i2, size2, stride2, seed), side)
        side = tl.where(side == 0, side_of_end(at, i3, size3, stride3, seed), side)
        corner = tl.where((far == 0) | (far == n - 1), 300.0, 100.0)
        spike = tl.where(side != 0, corner * (1 + c) * side, (10 + 90 * c) * sign)
        changed = tl.where((b < number) | (side != 0), spike * (strength * spread), v)
    elif KIND == "large":
        u0, _, _, _ = uniform4(seed, 1, (at // stride0) % size0)
        u1, _, _, _ = uniform4(seed, 2, (at // stride1) % size1)
        u2, _, _, _ = uniform4(seed, 3, (at // stride2) % size2)
        u3, _, _, _ = uniform4(seed, 4, (at // stride3) % size3)
        lower = tl.where(size0 > 1, u0 - 1, 0.0) + tl.where(size1 > 1, u1 - 1, 0.0) + tl.where(size2 > 1, u2 - 1, 0.0)
        changed = v * sign * power_of_ten(lower + tl.where(size3 > 1, u3 - 1, 0.0))
    elif KIND == "scaled":  # so that the largest magnitude becomes `number`
        size = tl.load(stats + 5)
        changed = v * (number / tl.where(size > 0, size, 1.0))
    elif KIND == "binary":
        changed = tl.where(a < 0.5, 1.0, 0.0) + 0 * v
    elif KIND == "near_one":
        changed = 1 + (v - mean) * (0.01 / spread)
    elif KIND == "swings":
        near = 1 + (v - mean) * (0.01 / spread)
        i0 = (at // stride0) % size0
        i1 = (at // stride1) % size1
        i2 = (at // stride2) % size2
        i3 = (at // stride3) % size3
        phase = i0 / size0 + i1 / size1 + i2 / size2 + i3 / size3
        start, first, _, _ = uniform4(seed, 1, at * 0)
        phase = phase.to(tl.float32) + start
        phase = phase - tl.floor(phase)
        apart = number.to(tl.int32)
        place = i0 + i1 + i2 + i3 + (first * number).to(tl.int32)
        power = tl.where(phase < 0.5, -1.0, 1.0) * (1 + d) * strength
        changed = tl.where(place % apart == 0, near * power_of_ten(power), near)
    else:
        tl.static_assert(KIND == "redrawn")
        other = tl.load(x + (far * step + 1) % n, mask=mask, other=0.0).to(tl.float64)
        changed = other + (0.5 + b) * spread
    if two_valued:
        if KIND == "redrawn":
            changed = tl.load(stats + 2) + tl.load(stats + 3) - v
        elif KIND != "scaled":
            changed = tl.load(x + (far * step + 1) % n, mask=mask, other=0.0).to(tl.float64)
        else:
            changed = v
    if KIND == "binary":  # one slice along each dimension is empty
        u0, u1, u2, u3 = uniform4(seed, 1, at * 0)
        empty = in_slice(at, size0, stride0, u0) | in_slice(at, size1, stride1, u1)
        empty |= in_slice(at, size2, stride2, u2) | in_slice(at, size3, stride3, u3)
        changed = tl.where(empty & (size1 > 1) & (strength == 1), tl.where(two_valued, tl.load(stats + 2), 0.0), changed)
    tl.store(out + far, changed.to(out.dtype.element_ty), mask=mask)


@triton.jit
def plant(out, stats, place0, place1, place2, place3, value0, value1, value2, value3, strength, number):
    """Writes four values into `out`, which holds the generated ones: in spreads, the last two in `number`s where it is not 0. Places may be equal."""
    spread = tl.load(stats + 1) * strength
    last = tl.where(number > 0, number.to(tl.float64), spread)
    if tl.load(stats + 4) == 0:
        tl.store(out + place0, (value0 * spread).to(out.dtype.element_ty))
        tl.store(out + place1, (value1 * spread).to(out.dtype.element_ty))
        tl.store(out + place2, (value2 * last).to(out.dtype.element_ty))
        tl.store(out + place3, (value3 * last).to(out.dtype.element_ty))


@triton.jit
def widen(x, out, seed, n, unit, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """To float64: as it is, each element moved by up to `unit` of its size, or rounded to the 11 bits of TF32."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    v = tl.load(x + at, mask=mask, other=0.0)
    if KIND == "tf32":
        bits = v.to(tl.int32, bitcast=True)
        cut = ((bits + 0x1000) & -0x2000).to(tl.float32, bitcast=True)
        wide = tl.where(tl.abs(v) < INFINITY, cut, v).to(tl.float64)
    elif KIND == "moved":
        a, _, _, _ = uniform4(seed, 0, at)
        wide = v.to(tl.float64) * (1 + (2 * a.to(tl.float64) - 1) * unit)
    else:
        wide = v.to(tl.float64)
    tl.store(out + at, wide, mask=mask)
