"""Attention of training, forward and backward: causal, within the documents of a batch, which lie one after the other. Token t is at
positions[t] of its document, and the next document starts at ends[t]: that is all that is known of documents.

Programs take tiles of tokens in an order that order_tiles makes, so that none of much work is left for the end.
"""
import triton
import triton.language as tl

from kernels.attention import join_block

PIECES = tl.constexpr(3)  # numbers of 8 bits that a float32 is made of
OFFSETS = tl.constexpr(16)  # columns of `offsets`, of which twice PIECES are used: the least that tl.dot takes


@triton.jit
def document_ends(starts, ends, BLOCK: tl.constexpr):
    """ends (tokens): where the token's document ends; program a document."""
    first = tl.load(starts + tl.program_id(0))
    last = tl.load(starts + tl.program_id(0) + 1)
    for start in range(first, last, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(ends + at, last + tl.zeros((BLOCK,), tl.int32), mask=at < last)


@triton.jit
def rows_read(positions, ends, tile, tokens, rows):
    """Of tiles of `rows` tokens: how many keys packed_attention reads, how many queries packed_attention_dkv does. Behind the last
    tile no more than 0."""
    start = tile * rows
    inside = start < tokens
    end = tl.minimum(start + rows, tokens)
    keys = end - start + tl.load(positions + start, mask=inside, other=0)
    return keys, tl.load(ends + end - 1, mask=inside, other=0) - start


@triton.jit
def rank_of(tile, work, other, others):
    """How many of the tiles `other` come before the tile: more work, or as much and a smaller number."""
    return tl.sum(((others > work) | ((others == work) & (other < tile))).to(tl.int32), 0)


@triton.jit
def order_tiles(positions, ends, by_keys, by_queries, tokens, rows, tiles, BLOCK: tl.constexpr):
    """by_keys, by_queries (tiles): tiles of `rows` tokens, those that read most keys or queries first; program a tile."""
    tile = tl.program_id(0)
    keys, queries = rows_read(positions, ends, tile, tokens, rows)
    key_rank = 0
    query_rank = 0
    for start in range(0, tiles, BLOCK):
        other = start + tl.arange(0, BLOCK)
        other_keys, other_queries = rows_read(positions, ends, other, tokens, rows)
        key_rank += rank_of(tile, keys, other, other_keys)
        query_rank += rank_of(tile, queries, other, other_queries)
    tl.store(by_keys + key_rank, tile)
    tl.store(by_queries + query_rank, tile)


@triton.jit
def packed_attention(rotated, qkv, positions, tile_order, out, lse, tokens, heads, kv_heads, scale_log2, ROWS: tl.constexpr,
                     BLOCK: tl.constexpr, D: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Causal attention within documents: program (head, place in tile_order) -> out (tokens, heads, D) of a tile of ROWS tokens and lse
    (heads, tokens), the logarithms to base 2 of the softmax's sums. rotated (tokens, heads + kv_heads, D): queries, keys; values are the last kv_heads of
    qkv (tokens, heads + 2 kv_heads, D). Softmax as in kernels/attention.py."""
    start = tl.load(tile_order + tl.program_id(1)) * ROWS
    head = tl.program_id(0)
    both = heads + kv_heads
    kv = head // (heads // kv_heads)
    r = start + tl.arange(0, ROWS)
    d = tl.arange(0, D)[None, :]
    inside = r < tokens
    last = tl.minimum(start + ROWS, tokens)
    begin = r - tl.load(positions + r, mask=inside, other=0)
    first = start - tl.load(positions + start)
    alone = last - 1 - tl.load(positions + last - 1) == first  # the tile is of one document
    q = tl.load(rotated + (r.to(tl.int64) * both + head)[:, None] * D + d, mask=inside[:, None], other=0.0)
    # The first block of keys and values; what follows is so many tokens further.
    n = tl.arange(0, BLOCK)
    keys = rotated + (first.to(tl.int64) * both + heads + kv) * D
    values = qkv + (first.to(tl.int64) * (both + kv_heads) + both + kv) * D
    key_at = n[:, None] * (both * D) + d
    value_at = n[:, None] * ((both + kv_heads) * D) + d
    best = tl.full((ROWS,), -1e30, tl.float32)  # finite: a row may see nothing of a block
    total = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    whole = tl.where(alone, (start + 1 - first) // BLOCK, 0)  # blocks that every row sees to their ends
    for b in range(0, whole):
        key = tl.load(keys + (b * BLOCK).to(tl.int64) * (both * D) + key_at)
        value = tl.load(values + (b * BLOCK).to(tl.int64) * ((both + kv_heads) * D) + value_at)
        best, total, acc = join_block(q, key, value, n, best, total, acc, scale_log2, False, PRECISION)
    for b in range(whole, tl.cdiv(last - first, BLOCK)):
        at = first + b * BLOCK + n
        there = (at < last)[:, None]
        seen = (at[None, :] >= begin[:, None]) & (at[None, :] <= r[:, None])
        key = tl.load(keys + (b * BLOCK).to(tl.int64) * (both * D) + key_at, mask=there, other=0.0)
        value = tl.load(values + (b * BLOCK).to(tl.int64) * ((both + kv_heads) * D) + value_at, mask=there, other=0.0)
        best, total, acc = join_block(q, key, value, seen, best, total, acc, scale_log2, True, PRECISION)
    tl.store(out + (r.to(tl.int64) * heads + head)[:, None] * D + d, (acc / total[:, None]).to(out.dtype.element_ty),
             mask=inside[:, None])  # fmt: skip
    tl.store(lse + head.to(tl.int64) * tokens + r, best + tl.log2(total), mask=inside)


@triton.jit
def block_to_query(q, d_out, key, value, lse, along, seen, acc, scale_log2, MASKED: tl.constexpr, PRECISION: tl.constexpr):
    """What a block of keys and values adds to the queries' gradient, less the scale."""
    score = tl.dot(q, tl.trans(key), input_precision=PRECISION)
    d_weight = tl.dot(d_out, tl.trans(value), input_precision=PRECISION)  # before the exponentials: quicker
    weight = tl.exp2(score * scale_log2 - lse[:, None])
    if MASKED:
        weight = tl.where(seen, weight, 0.0)
    return tl.dot((weight * (d_weight - along[:, None])).to(key.dtype), key, acc, input_precision=PRECISION)


@triton.jit
def with_pieces(offset, column, first: tl.constexpr, x):
    """`offset` with PIECES columns, from `first` on, that add up to x: to 2^-24 of it in bf16."""
    for i in tl.static_range(PIECES):
        piece = x.to(offset.dtype)
        offset = tl.where(column == first + i, piece[:, None], offset)
        x -= piece.to(tl.float32)
    return offset


@triton.jit
def packed_attention_dq(rotated, qkv, positions, tile_order, out, lse, d_out, d_rotated, offsets, tokens, heads, kv_heads, scale_log2,
                        scale, ROWS: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """d_out, of packed_attention's out -> the queries' part of d_rotated, and `offsets`, which packed_attention_dkv reads. Dao 2023 (arXiv
    2307.08691), algorithm 2, without its atomics. Programs as packed_attention's.

    offsets (heads, tokens, OFFSETS), in the weights' type: what a query's scores and its weights' gradients begin with, -lse / scale_log2
    in the first PIECES columns, whose sum it is, and minus the sum of out * d_out in the next."""
    start = tl.load(tile_order + tl.program_id(1)) * ROWS
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
    q = tl.load(rotated + query_at, mask=inside[:, None], other=0.0)
    d_o = tl.load(d_out + out_at, mask=inside[:, None], other=0.0)
    o = tl.load(out + out_at, mask=inside[:, None], other=0.0)
    sums = tl.sum(o.to(tl.float32) * d_o.to(tl.float32), 1)
    row_at = head.to(tl.int64) * tokens + r
    row_lse = tl.load(lse + row_at, mask=inside, other=0.0)
    column = tl.arange(0, OFFSETS)[None, :]
    offset = tl.zeros((ROWS, OFFSETS), offsets.dtype.element_ty)
    offset = with_pieces(offset, column, 0, -row_lse / scale_log2)
    offset = with_pieces(offset, column, PIECES, -sums)
    tl.store(offsets + row_at[:, None] * OFFSETS + column, offset, mask=inside[:, None])
    n = tl.arange(0, BLOCK)
    keys = rotated + (first.to(tl.int64) * both + heads + kv) * D
    values = qkv + (first.to(tl.int64) * (both + kv_heads) + both + kv) * D
    key_at = n[:, None] * (both * D) + d
    value_at = n[:, None] * ((both + kv_heads) * D) + d
    acc = tl.zeros((ROWS, D), tl.float32)
    whole = tl.where(alone, (start + 1 - first) // BLOCK, 0)
    for b in range(0, whole):
        key = tl.load(keys + (b * BLOCK).to(tl.int64) * (both * D) + key_at)
        value = tl.load(values + (b * BLOCK).to(tl.int64) * ((both + kv_heads) * D) + value_at)
        acc = block_to_query(q, d_o, key, value, row_lse, sums, n, acc, scale_log2, False, PRECISION)
    for b in range(whole, tl.cdiv(last - first, BLOCK)):
        at = first + b * BLOCK + n
        there = (at < last)[:, None]
        seen = (at[None, :] >= begin[:, None]) & (at[None, :] <= r[:, None])
        key = tl.load(keys + (b * BLOCK).to(tl.int64) * (both * D) + key_at, mask=there, other=0.0)
        value = tl.load(values + (b * BLOCK).to(tl.int64) * ((both + kv_heads) * D) + value_at, mask=there, other=0.0)
        acc = block_to_query(q, d_o, key, value, row_lse, sums, seen, acc, scale_log2, True, PRECISION)
    tl.store(d_rotated + query_at, (acc * scale).to(d_rotated.dtype.element_ty), mask=inside[:, None])


@triton.jit
def block_to_key(key, value, q, d_o, offset, to_score, to_weight, seen, d_key, d_value, scale_log2, MASKED: tl.constexpr,
                 PRECISION: tl.constexpr):  # fmt: skip
    """What a block of queries adds to the gradients of keys, less the scale, and of values. seen (keys, queries)."""
    offset = tl.trans(offset)
    score = tl.dot(to_score, offset, input_precision=PRECISION)
    score = tl.dot(key, tl.trans(q), score, input_precision=PRECISION)
    d_weight = tl.dot(to_weight, offset, input_precision=PRECISION)
    d_weight = tl.dot(value, tl.trans(d_o), d_weight, input_precision=PRECISION)
    weight = tl.exp2(score * scale_log2)
    if MASKED:
        weight = tl.where(seen, weight, 0.0)
    d_value = tl.dot(weight.to(d_o.dtype), d_o, d_value, input_precision=PRECISION)
    return tl.dot((weight * d_weight).to(q.dtype), q, d_key, input_precision=PRECISION), d_value


@triton.jit
def packed_attention_dkv(rotated, qkv, ends, tile_order, d_out, offsets, d_rotated, d_qkv, tokens, heads, kv_heads, scale_log2, scale,
                         ROWS: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """The same to the keys' part of d_rotated and the values' part of d_qkv: program (key head, place in tile_order) of a tile of ROWS
    keys. A query is a column here, and of a number for each every thread would load its own, one by one: the tensor cores add
    `offsets` instead."""
    start = tl.load(tile_order + tl.program_id(1)) * ROWS
    kv = tl.program_id(0)
    both = heads + kv_heads
    group = heads // kv_heads
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
    # Blocks of queries from the tile's first token to the document's end: those beside the diagonal and the one that reaches over
    # the end need a mask, those between, [diagonal, whole), do not.
    blocks = tl.cdiv(end - start, BLOCK)
    diagonal = tl.where(alone, tl.minimum(ROWS // BLOCK, blocks), blocks)
    whole = tl.where(alone, tl.maximum(diagonal, (end - start) // BLOCK), blocks)
    i = tl.arange(0, BLOCK)
    query_at = i[:, None] * (both * D) + d
    out_at = i[:, None] * (heads * D) + d
    offset_at = i[:, None] * OFFSETS + column
    for member in range(0, group):
        head = kv * group + member
        queries = rotated + (start.to(tl.int64) * both + head) * D
        d_outs = d_out + (start.to(tl.int64) * heads + head) * D
        rows = offsets + (head.to(tl.int64) * tokens + start) * OFFSETS
        for b in range(0, diagonal + blocks - whole):
            step = tl.where(b < diagonal, b, b + whole - diagonal) * BLOCK
            m = start + step + i
            there = m < tokens
            seen = (n[:, None] <= m[None, :]) & (m[None, :] < key_end[:, None])
            q = tl.load(queries + step.to(tl.int64) * (both * D) + query_at, mask=there[:, None], other=0.0)
            d_o = tl.load(d_outs + step.to(tl.int64) * (heads * D) + out_at, mask=there[:, None], other=0.0)
            offset = tl.load(rows + step * OFFSETS + offset_at, mask=there[:, None], other=0.0)
            d_key, d_value = block_to_key(key, value, q, d_o, offset, to_score, to_weight, seen, d_key, d_value, scale_log2, True,
                                          PRECISION)  # fmt: skip
        for b in range(diagonal, whole):
            step = b * BLOCK
            q = tl.load(queries + step.to(tl.int64) * (both * D) + query_at)
            d_o = tl.load(d_outs + step.to(tl.int64) * (heads * D) + out_at)
            offset = tl.load(rows + step * OFFSETS + offset_at)
            d_key, d_value = block_to_key(key, value, q, d_o, offset, to_score, to_weight, i, d_key, d_value, scale_log2, False,
                                          PRECISION)  # fmt: skip
    tl.store(d_rotated + key_at, (d_key * scale).to(d_rotated.dtype.element_ty), mask=inside)
    tl.store(d_qkv + value_at, d_value.to(d_qkv.dtype.element_ty), mask=inside)
