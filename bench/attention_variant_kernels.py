"""Training's attention (kernels/packed_attention.py) with its choices open, for bench/attention_variants.py. Arguments and results are
packed_attention.py's; what is here that is not there:

EARLY      both products with what was loaded are started before the exponentials
SPLIT      blocks that need no mask have a loop of their own; dkv without it runs over query heads and blocks in one loop
ORDERED    programs take tiles in the order of `order`, most work first
BY_HEAD    dkv: a program for each query head, whose results sum_heads adds up
FOLDED     dkv: the tensor cores add what belongs to a query (`offsets`); without it every thread loads its own of lse and along
Grids are (heads, tiles).
"""
import triton
import triton.language as tl

from kernels.attention import join_block
from kernels.packed_attention import OFFSETS, PIECES
from kernels.packed_attention import block_to_key as folded_to_key


@triton.jit
def tile_start(order, ROWS: tl.constexpr, ORDERED: tl.constexpr):
    tile = tl.program_id(1)
    if ORDERED:
        tile = tl.load(order + tile)
    return tile * ROWS


@triton.jit
def forward(rotated, qkv, positions, out, lse, order, tokens, heads, kv_heads, scale_log2, ROWS: tl.constexpr, BLOCK: tl.constexpr,
            D: tl.constexpr, SPLIT: tl.constexpr, ORDERED: tl.constexpr):  # fmt: skip
    start = tile_start(order, ROWS, ORDERED)
    head = tl.program_id(0)
    both = heads + kv_heads
    kv = head // (heads // kv_heads)
    r = start + tl.arange(0, ROWS)
    d = tl.arange(0, D)[None, :]
    inside = r < tokens
    last = tl.minimum(start + ROWS, tokens)
    begin = r - tl.load(positions + r, mask=inside, other=0)
    first = start - tl.load(positions + start)
    alone = last - 1 - tl.load(positions + last - 1) == first
    q = tl.load(rotated + (r.to(tl.int64) * both + head)[:, None] * D + d, mask=inside[:, None], other=0.0)
    n = tl.arange(0, BLOCK)
    keys = rotated + (heads + kv) * D
    values = qkv + (both + kv) * D
    key_at = n[:, None] * (both * D) + d
    value_at = n[:, None] * ((both + kv_heads) * D) + d
    best = tl.full((ROWS,), -1e30, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    whole = tl.where(alone, (start + 1 - first) // BLOCK, 0)
    if SPLIT:
        for b in range(0, whole):
            step = (first + b * BLOCK).to(tl.int64)
            key = tl.load(keys + step * (both * D) + key_at)
            value = tl.load(values + step * ((both + kv_heads) * D) + value_at)
            best, total, acc = join_block(q, key, value, n, best, total, acc, scale_log2, False, "tf32")
    else:
        whole = whole * 0
    for b in range(whole, tl.cdiv(last - first, BLOCK)):
        step = (first + b * BLOCK).to(tl.int64)
        at = first + b * BLOCK + n
        there = (at < last)[:, None]
        seen = (at[None, :] >= begin[:, None]) & (at[None, :] <= r[:, None])
        key = tl.load(keys + step * (both * D) + key_at, mask=there, other=0.0)
        value = tl.load(values + step * ((both + kv_heads) * D) + value_at, mask=there, other=0.0)
        best, total, acc = join_block(q, key, value, seen, best, total, acc, scale_log2, True, "tf32")
    tl.store(out + (r.to(tl.int64) * heads + head)[:, None] * D + d, (acc / total[:, None]).to(out.dtype.element_ty),
             mask=inside[:, None])  # fmt: skip
    tl.store(lse + head.to(tl.int64) * tokens + r, best + tl.log2(total), mask=inside)


@triton.jit
def block_to_query(q, d_out, key, value, lse, along, seen, acc, scale_log2, MASKED: tl.constexpr, EARLY: tl.constexpr):
    score = tl.dot(q, tl.trans(key))
    if EARLY:
        d_weight = tl.dot(d_out, tl.trans(value))
        weight = tl.exp2(score * scale_log2 - lse[:, None])
    else:
        weight = tl.exp2(score * scale_log2 - lse[:, None])
        d_weight = tl.dot(d_out, tl.trans(value))
    if MASKED:
        weight = tl.where(seen, weight, 0.0)
    return tl.dot((weight * (d_weight - along[:, None])).to(key.dtype), key, acc)


@triton.jit
def dq(rotated, qkv, positions, out, lse, d_out, d_rotated, along, order, tokens, heads, kv_heads, scale_log2, scale,
       ROWS: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, EARLY: tl.constexpr, SPLIT: tl.constexpr,
       ORDERED: tl.constexpr):  # fmt: skip
    start = tile_start(order, ROWS, ORDERED)
    head = tl.program_id(0)
    both = heads + kv_heads
    kv = head // (heads // kv_heads)
    r = start + tl.arange(0, ROWS)
    d = tl.arange(0, D)[None, :]
    inside = r < tokens
    last = tl.minimum(start + ROWS, tokens)
    begin = r - tl.load(positions + r, mask=inside, other=0)
    first = start - tl.load(positions + start)
    alone = last - 1 - tl.load(positions + last - 1) == first
    query_at = (r.to(tl.int64) * both + head)[:, None] * D + d
    out_at = (r.to(tl.int64) * heads + head)[:, None] * D + d
    o = tl.load(out + out_at, mask=inside[:, None], other=0.0)
    d_o = tl.load(d_out + out_at, mask=inside[:, None], other=0.0)
    sums = tl.sum(o.to(tl.float32) * d_o.to(tl.float32), 1)
    row_at = head.to(tl.int64) * tokens + r
    q = tl.load(rotated + query_at, mask=inside[:, None], other=0.0)
    row_lse = tl.load(lse + row_at, mask=inside, other=0.0)
    tl.store(along + row_at, sums, mask=inside)
    n = tl.arange(0, BLOCK)
    keys = rotated + (heads + kv) * D
    values = qkv + (both + kv) * D
    key_at = n[:, None] * (both * D) + d
    value_at = n[:, None] * ((both + kv_heads) * D) + d
    acc = tl.zeros((ROWS, D), tl.float32)
    whole = tl.where(alone, (start + 1 - first) // BLOCK, 0)
    if SPLIT:
        for b in range(0, whole):
            step = (first + b * BLOCK).to(tl.int64)
            key = tl.load(keys + step * (both * D) + key_at)
            value = tl.load(values + step * ((both + kv_heads) * D) + value_at)
            acc = block_to_query(q, d_o, key, value, row_lse, sums, n, acc, scale_log2, False, EARLY)
    else:
        whole = whole * 0
    for b in range(whole, tl.cdiv(last - first, BLOCK)):
        step = (first + b * BLOCK).to(tl.int64)
        at = first + b * BLOCK + n
        there = (at < last)[:, None]
        seen = (at[None, :] >= begin[:, None]) & (at[None, :] <= r[:, None])
        key = tl.load(keys + step * (both * D) + key_at, mask=there, other=0.0)
        value = tl.load(values + step * ((both + kv_heads) * D) + value_at, mask=there, other=0.0)
        acc = block_to_query(q, d_o, key, value, row_lse, sums, seen, acc, scale_log2, True, EARLY)
    tl.store(d_rotated + query_at, (acc * scale).to(d_rotated.dtype.element_ty), mask=inside[:, None])


@triton.jit
def block_to_key(key, value, q, d_o, lse, along, seen, d_key, d_value, scale_log2, MASKED: tl.constexpr, EARLY: tl.constexpr):
    score = tl.dot(key, tl.trans(q))
    if EARLY:
        d_weight = tl.dot(value, tl.trans(d_o))
    weight = tl.exp2(score * scale_log2 - lse[None, :])
    if MASKED:
        weight = tl.where(seen, weight, 0.0)
    d_value = tl.dot(weight.to(d_o.dtype), d_o, d_value)
    if not EARLY:
        d_weight = tl.dot(value, tl.trans(d_o))
    return tl.dot((weight * (d_weight - along[None, :])).to(q.dtype), q, d_key), d_value


@triton.jit
def rows_to_key(key, value, queries, d_outs, lse, along, offsets, at, query_at, out_at, to_score, to_weight, there, seen, d_key, d_value,
                scale_log2, MASKED: tl.constexpr, EARLY: tl.constexpr, FOLDED: tl.constexpr):  # fmt: skip
    """The queries `at` (row numbers of a head): what they add, with their numbers read in one way or the other."""
    if MASKED:
        q = tl.load(queries + query_at, mask=there[:, None], other=0.0)
        d_o = tl.load(d_outs + out_at, mask=there[:, None], other=0.0)
    else:
        q = tl.load(queries + query_at)
        d_o = tl.load(d_outs + out_at)
    if FOLDED:
        offset_at = at[:, None] * OFFSETS + tl.arange(0, OFFSETS)[None, :]
        offset = tl.load(offsets + offset_at, mask=there[:, None], other=0.0) if MASKED else tl.load(offsets + offset_at)
        return folded_to_key(key, value, q, d_o, offset, to_score, to_weight, seen, d_key, d_value, scale_log2, MASKED, "tf32")
    row_lse = tl.load(lse + at, mask=there, other=0.0) if MASKED else tl.load(lse + at)
    sums = tl.load(along + at, mask=there, other=0.0) if MASKED else tl.load(along + at)
    return block_to_key(key, value, q, d_o, row_lse, sums, seen, d_key, d_value, scale_log2, MASKED, EARLY)


@triton.jit
def dkv(rotated, qkv, ends, lse, d_out, along, d_rotated, d_qkv, d_keys, d_values, order, offsets, tokens, heads, kv_heads, scale_log2, scale,
        ROWS: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, EARLY: tl.constexpr, SPLIT: tl.constexpr,
        FOLDED: tl.constexpr, ORDERED: tl.constexpr, BY_HEAD: tl.constexpr):  # fmt: skip
    start = tile_start(order, ROWS, ORDERED)
    both = heads + kv_heads
    group = heads // kv_heads
    kv = tl.program_id(0)
    first_head = kv * group
    members = group
    if BY_HEAD:
        first_head = kv
        kv = kv // group
        members = 1
    n = start + tl.arange(0, ROWS)
    d = tl.arange(0, D)[None, :]
    inside = (n < tokens)[:, None]
    key_end = tl.load(ends + n, mask=n < tokens, other=0)
    end = tl.load(ends + tl.minimum(start + ROWS, tokens) - 1)
    alone = tl.load(ends + start) == end
    key_at = (n.to(tl.int64) * both + heads + kv)[:, None] * D + d
    value_at = (n.to(tl.int64) * (both + kv_heads) + both + kv)[:, None] * D + d
    key = tl.load(rotated + key_at, mask=inside, other=0.0)
    value = tl.load(qkv + value_at, mask=inside, other=0.0)
    d_key = tl.zeros((ROWS, D), tl.float32)
    d_value = tl.zeros((ROWS, D), tl.float32)
    column = tl.arange(0, OFFSETS)[None, :]
    to_score = tl.broadcast_to(tl.where(column < PIECES, 1.0, 0.0), (ROWS, OFFSETS)).to(key.dtype)
    to_weight = tl.broadcast_to(tl.where((column >= PIECES) & (column < 2 * PIECES), 1.0, 0.0), (ROWS, OFFSETS)).to(key.dtype)
    blocks = tl.cdiv(end - start, BLOCK)
    i = tl.arange(0, BLOCK)
    query_at = i[:, None] * (both * D) + d
    out_at = i[:, None] * (heads * D) + d
    queries = rotated + first_head * D
    d_outs = d_out + first_head * D
    row = first_head.to(tl.int64) * tokens
    if SPLIT:
        diagonal = tl.where(alone, tl.minimum(tl.cdiv(ROWS, BLOCK), blocks), blocks)
        whole = tl.where(alone, tl.maximum(diagonal, (end - start) // BLOCK), blocks)
        for member in range(0, members):
            for b in range(0, diagonal + blocks - whole):
                step = start + tl.where(b < diagonal, b, b + whole - diagonal) * BLOCK
                m = step + i
                there = m < tokens
                seen = (n[:, None] <= m[None, :]) & (m[None, :] < key_end[:, None])
                d_key, d_value = rows_to_key(key, value, queries + step.to(tl.int64) * (both * D), d_outs + step.to(tl.int64) * (heads * D),
                                             lse, along, offsets, row + step + i, query_at, out_at, to_score, to_weight, there, seen,
                                             d_key, d_value, scale_log2, True, EARLY, FOLDED)  # fmt: skip
            for b in range(diagonal, whole):
                step = start + b * BLOCK
                d_key, d_value = rows_to_key(key, value, queries + step.to(tl.int64) * (both * D), d_outs + step.to(tl.int64) * (heads * D),
                                             lse, along, offsets, row + step + i, query_at, out_at, to_score, to_weight, i, i,
                                             d_key, d_value, scale_log2, False, EARLY, FOLDED)  # fmt: skip
            queries += D
            d_outs += D
            row += tokens
    else:
        for b in range(0, blocks * members):
            member = b // blocks
            step = start + (b % blocks) * BLOCK
            m = step + i
            there = m < tokens
            seen = (n[:, None] <= m[None, :]) & (m[None, :] < key_end[:, None])
            d_key, d_value = rows_to_key(key, value, queries + step.to(tl.int64) * (both * D) + member * D,
                                         d_outs + step.to(tl.int64) * (heads * D) + member * D, lse, along, offsets,
                                         row + member.to(tl.int64) * tokens + step + i, query_at, out_at, to_score, to_weight, there, seen,
                                         d_key, d_value, scale_log2, True, EARLY, FOLDED)  # fmt: skip
    if BY_HEAD:
        part_at = (n.to(tl.int64) * heads + first_head)[:, None] * D + d
        tl.store(d_keys + part_at, (d_key * scale).to(d_keys.dtype.element_ty), mask=inside)
        tl.store(d_values + part_at, d_value.to(d_values.dtype.element_ty), mask=inside)
    else:
        tl.store(d_rotated + key_at, (d_key * scale).to(d_rotated.dtype.element_ty), mask=inside)
        tl.store(d_qkv + value_at, d_value.to(d_qkv.dtype.element_ty), mask=inside)


@triton.jit
def sum_heads(d_keys, d_values, d_rotated, d_qkv, tokens, heads, kv_heads, ROWS: tl.constexpr, D: tl.constexpr):
    """BY_HEAD's results (tokens, heads, D), those of a key head added up; program (tile of tokens, key head)."""
    n = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    kv = tl.program_id(1)
    group = heads // kv_heads
    both = heads + kv_heads
    d = tl.arange(0, D)[None, :]
    inside = (n < tokens)[:, None]
    key = tl.zeros((ROWS, D), tl.float32)
    value = tl.zeros((ROWS, D), tl.float32)
    for member in range(0, group):
        at = (n.to(tl.int64) * heads + kv * group + member)[:, None] * D + d
        key += tl.load(d_keys + at, mask=inside, other=0.0).to(tl.float32)
        value += tl.load(d_values + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(d_rotated + (n.to(tl.int64) * both + heads + kv)[:, None] * D + d, key.to(d_rotated.dtype.element_ty), mask=inside)
    tl.store(d_qkv + (n.to(tl.int64) * (both + kv_heads) + both + kv)[:, None] * D + d, value.to(d_qkv.dtype.element_ty), mask=inside)
