"""Training's kernels (kernels/training.py) in other forms, for bench/training_kernel_variants.py: those that were quicker on an H200 and are
not in the program (docs/log/2026-11-23-gpu.md; what was slower is in commit 71bcfa4). Arguments and results are those of today's.
"""
import triton
import triton.language as tl


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
