"""Kernels for what most elements of an output are off by: src/verify/budget_most.h, by samples, one program each."""
import triton
import triton.language as tl

from kernels.compare import errors_at
from kernels.measure import INFINITY, fills_of, is_fill, is_finite, larger, two_ranked

HALF, NINE_IN_TEN = tl.constexpr(50), tl.constexpr(90)  # MostElements::kPercent


@triton.jit
def place_of(sample, totals, n, samples):
    """src/verify/budget_most.cc, SampledPlaces."""
    bits = tl.load(totals).to(tl.int64, bitcast=True)
    salt = (bits ^ (bits >> 32)).to(tl.uint32)
    x = (sample.to(tl.uint32) ^ salt) * 0x9E3779B1
    x = (x ^ (x >> 15)) * 0x85EBCA77
    x = x ^ (x >> 13)
    stride = n // samples
    return sample * n // samples + x.to(tl.int64) % stride


@triton.jit
def measure_most(exact, eager, wobble, row_scale, totals, n, length, samples, more, HAS_WOBBLE: tl.constexpr, BLOCK: tl.constexpr):
    """Behind what total_rows and choose_fill left in `totals`: the noise that half of the elements, and that nine in ten, stay below
    (`more` percent more of them), and the same of the largest magnitudes of their rows.
    """
    sample = tl.arange(0, BLOCK).to(tl.int64)
    at = place_of(sample, totals, n, samples)
    _, least = fills_of(totals)
    e = tl.load(exact + at, mask=sample < samples, other=INFINITY)
    there = is_finite(e) & (is_fill(e, least) == 0)
    error = tl.abs(tl.load(eager + at, mask=there, other=0.0).to(tl.float64) - e)
    error = tl.where(error < INFINITY, error, 0.0)
    if HAS_WOBBLE:
        moved = tl.abs(tl.load(wobble + at, mask=there, other=0.0) - e)
        error = larger(error, tl.where(moved < INFINITY, moved, 0.0))
    scale = tl.load(row_scale + at // length, mask=there, other=0.0)
    count = tl.sum(there.to(tl.int32))
    half, most = count * (HALF + more) // 100, count * (NINE_IN_TEN + more) // 100
    noise_of_half, noise_of_most = two_ranked(error, there, half, there, most)
    scale_of_half, scale_of_most = two_ranked(scale, there, half, there, most)
    tl.store(totals + 12, noise_of_half)
    tl.store(totals + 13, noise_of_most)
    tl.store(totals + 14, scale_of_half)
    tl.store(totals + 15, scale_of_most)


@triton.jit
def compare_most(exact, eager, got, totals, result, n, samples, BLOCK: tl.constexpr):
    """Behind what join_compared left in `result`: the errors that half of the elements, and that nine in ten, stay below."""
    sample = tl.arange(0, BLOCK).to(tl.int64)
    at = place_of(sample, totals, n, samples)
    _, least = fills_of(totals)
    mask = sample < samples
    rescues = tl.load(totals + 4) > 0
    e, _, error = errors_at(exact, eager, got, at, mask, rescues)
    there = mask & is_finite(e) & (is_fill(e, least) == 0)
    count = tl.sum(there.to(tl.int32))
    half, most = two_ranked(error, there, count * HALF // 100, there, count * NINE_IN_TEN // 100)
    tl.store(result + 9, half)
    tl.store(result + 10, most)
