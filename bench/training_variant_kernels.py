"""Training's kernels (kernels/training.py) in other forms, for bench/training_kernel_variants.py: those that were quicker on an H200 and are
not in the program (docs/log/2026-11-23-gpu.md; what was slower is in commit 71bcfa4). Arguments and results are those of today's.
"""
import triton
import triton.language as tl


@triton.jit
def norm_backward_ahead(x, weight, d_out, d_x, parts, rows, n, eps, ADD: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
                        AHEAD: tl.constexpr):  # fmt: skip
    """Today's, with tiles on their way, and with both of a row's sums taken at once."""
    at = tl.arange(0, BLOCK)
    w = tl.load(weight + at, mask=at < n, other=0.0).to(tl.float32)[None, :]
    acc = tl.zeros((ROWS, BLOCK), tl.float32)
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0), num_stages=AHEAD):
        row = tile * ROWS + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & (at < n)[None, :]
        place = row.to(tl.int64)[:, None] * n + at[None, :]
        v = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
        d = tl.load(d_out + place, mask=mask, other=0.0).to(tl.float32)
        if ADD:
            passed = tl.load(d_x + place, mask=mask, other=0.0).to(tl.float32)
        square = tl.sum(v * v, 1)
        along = tl.sum(d * w * v, 1)
        scale = tl.rsqrt(square / n + eps)
        along = (along * scale / n)[:, None]
        scale = scale[:, None]
        v = v * scale
        acc += d * v
        d = scale * (d * w - v * along)
        if ADD:
            d += passed
        tl.store(d_x + place, d.to(d_x.dtype.element_ty), mask=mask)
    tl.store(parts + tl.program_id(0).to(tl.int64) * n + at, tl.sum(acc, 0), mask=at < n)


@triton.jit
def embedding_backward(ids, order, d_x, gradient, tokens, n, steps, PLACES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Program (PLACES places among the ids, tile of columns): fewer programs, most of which have an id to work for."""
    first = tl.program_id(0) * PLACES
    at = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (at < n)[None, :]
    for place in range(first, tl.minimum(first + PLACES, tokens)):
        token = tl.load(ids + place)
        if (place == 0) | (tl.load(ids + tl.maximum(place - 1, 0)) != token):
            low = place + 1
            high = tokens
            for _ in range(0, steps):
                middle = (low + high) // 2
                same = tl.load(ids + tl.minimum(middle, tokens - 1)) == token
                low = tl.where((low < high) & same, middle + 1, low)
                high = tl.where((low < high) & (same == 0), middle, high)
            acc = tl.zeros((ROWS, COLUMNS), tl.float32)
            for start in range(place, high, ROWS):
                i = start + tl.arange(0, ROWS)
                row = tl.load(order + i, mask=i < high, other=0)
                acc += tl.load(d_x + row[:, None] * n + at[None, :], mask=(i < high)[:, None] & inside, other=0.0).to(tl.float32)
            to = gradient + token.to(tl.int64) * n + at
            tl.store(to, tl.load(to, mask=at < n, other=0.0) + tl.sum(acc, 0), mask=at < n)
