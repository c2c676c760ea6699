"""Reductions, scans, sorts, with known and with own combine functions."""
import triton
import triton.language as tl

from .cases import Out, Tensor, case


@triton.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def affine(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def larger_magnitude(a, b):
    if tl.abs(a) > tl.abs(b):
        result = a
    else:
        result = b
    return result


@case(x=Tensor("fp32", (16, 32)), i=Tensor("i32", (16, 32), (-50, 50)), y=Out("fp32", 128), j=Out("i32", 96), p=Out("i1", 16), M=16, N=32)
@triton.jit
def reduce_axes(x, i, y, j, p, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    g = rows[:, None] * N + columns[None, :]
    v = tl.load(x + g)
    w = tl.load(i + g)
    tl.store(y + rows, tl.sum(v, 1))
    tl.store(y + M + columns, tl.max(v, 0))
    tl.store(y + M + N + rows, tl.min(v, 1))
    tl.store(y + 2 * M + N, tl.sum(v))
    tl.store(y + 3 * M + N + rows[:, None], tl.sum(v, 1, keep_dims=True))
    tl.store(y + 4 * M + N + columns, tl.reduce(v, 0, multiply))
    tl.store(j + rows, tl.sum(w, 1))
    tl.store(j + M + columns, tl.xor_sum(w, 0))
    tl.store(j + M + N + rows, tl.max(w, 1))
    tl.store(j + 2 * M + N, tl.min(w))
    tl.store(p + rows, tl.reduce_or(w > 48, 1))


@case(h=Tensor("fp16", (16, 16)), b=Tensor("bf16", (16, 16)), c=Tensor("i8", (16, 16), (-100, 100)), x=Out("fp16", 32), y=Out("bf16", 48),
      j=Out("i32", 16), B=16, no_interpreter="reduces bf16 in fp32", tolerance=0.05)
@triton.jit
def reduce_small(h, b, c, x, y, j, B: tl.constexpr):
    r = tl.arange(0, B)
    g = r[:, None] * B + r[None, :]
    tl.store(x + r, tl.sum(tl.load(h + g), 1))
    tl.store(x + B + r, tl.max(tl.load(h + g), 1))
    tl.store(y + r, tl.sum(tl.load(b + g), 0))
    tl.store(y + B + r, tl.cumsum(tl.load(b + r)))
    tl.store(y + 2 * B + r, tl.min(tl.load(b + g), 0))
    tl.store(j + r, tl.sum(tl.load(c + g), 1))


@case(x=Tensor("fp32", (16, 16)), y=Out("fp32", 16), i=Out("i32", 65), B=16)
@triton.jit
def arg_reduce(x, y, i, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r[:, None] * B + r[None, :])
    best, where = tl.max(v, 1, return_indices=True)
    tl.store(y + r, best)
    tl.store(i + r, where)
    tl.store(i + B + r, tl.argmin(v, 0))
    tl.store(i + 2 * B + r, tl.argmax(v, 1, tie_break_left=False))
    tl.store(i + 3 * B + r, tl.argmax(v, 0))
    tl.store(i + 4 * B, tl.argmin(tl.load(x + r), 0))


@case(x=Tensor("fp32", (16, 16)), y=Out("fp32", 32), B=16)
@triton.jit
def reduce_several(x, y, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r[:, None] * B + r[None, :])
    mean, m2, count = tl.reduce((v, v * 0.0, v * 0.0 + 1.0), 1, welford)
    tl.store(y + r, mean)
    tl.store(y + B + r, m2 / count)


@case(x=Tensor("fp32", 64), y=Out("fp32", 1), B=64, no_interpreter="a branch on a tensor in the combine function")
@triton.jit
def reduce_with_branch(x, y, B: tl.constexpr):
    tl.store(y, tl.reduce(tl.load(x + tl.arange(0, B)), 0, larger_magnitude))


@case(x=Tensor("fp32", (16, 16)), i=Tensor("i32", 16, (-9, 9)), y=Out("fp32", 1024), j=Out("i32", 16), B=16)
@triton.jit
def scans(x, i, y, j, B: tl.constexpr):
    r = tl.arange(0, B)
    g = r[:, None] * B + r[None, :]
    v = tl.load(x + g)
    tl.store(y + g, tl.cumsum(v, 1))
    tl.store(y + B * B + g, tl.cumprod(v, 0, reverse=True))
    a, b = tl.associative_scan((v, v + 1.0), 1, affine)
    tl.store(y + 2 * B * B + g, a)
    tl.store(y + 3 * B * B + g, b)
    tl.store(j + r, tl.cumsum(tl.load(i + r), 0))


@case(x=Tensor("fp32", 32), i=Tensor("i32", 32, (-99, 99)), y=Out("fp32", 40), j=Out("i32", 32), B=32)
@triton.jit
def sorts(x, i, y, j, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(y + r, tl.sort(tl.load(x + r), descending=True))
    tl.store(j + r, tl.sort(tl.load(i + r)))
    tl.store(y + B + tl.arange(0, 8), tl.topk(tl.load(x + r), 8))


# As a cube of ten dimensions.
@case(x=Tensor("fp32", 1024), y=Out("i64", 1024), z=Out("fp32", 64), B=1024)
@triton.jit
def long_sorts(x, y, z, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    tl.store(y + r, tl.sort((v.to(tl.int32, bitcast=True).to(tl.int64) << 32) | r))
    tl.store(z + tl.arange(0, 64), tl.topk(v, 64))


@triton.jit
def larger(a, b):
    if a > b:
        return a
    return b


@triton.jit
def larger_of_lower_index(a, i, b, j):
    if a > b or (a == b and i < j):
        return a, i
    else:
        return b, j


@case(x=Tensor("fp32", (16, 16)), y=Out("fp32", 272), i=Out("i32", 16), B=16, no_interpreter="returns in branches of the combine function")
@triton.jit
def combine_with_returns(x, y, i, B: tl.constexpr):
    r = tl.arange(0, B)
    g = r[:, None] * B + r[None, :]
    v = tl.load(x + g)
    best, where = tl.reduce((v, tl.broadcast_to(r[None, :], (B, B))), 1, larger_of_lower_index)
    tl.store(y + r, best)
    tl.store(i + r, where)
    tl.store(y + B + g, tl.associative_scan(v, 1, larger))
