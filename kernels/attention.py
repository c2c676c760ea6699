"""Attention over a paged cache of keys and values.

The cache of one layer is two tensors (blocks, kv_heads, BLOCK, D); a sequence's positions lie in the blocks that its row of a table
names. Softmax in float32 (online: Milakov and Gimelshein 2018, arXiv 1805.02867), scores in powers of two: scale_log2 is the scale
times log2(e). GROUP query heads, the tile of a dot at least, share a key head; where a model has fewer the others are idle, where
it has more they take several programs.

D is the width of tiles, a power of two. Heads have as many elements unless PADDED: then they have head_dim (which is read only then),
and the elements of a tile behind it are zero.
"""
import triton
import triton.language as tl


@triton.jit
def load_heads(pointers, there, inside, PADDED: tl.constexpr):
    """Of the heads that are there."""
    if PADDED:
        x = tl.load(pointers, mask=there & inside, other=0.0)
    else:
        x = tl.load(pointers, mask=there, other=0.0)
    return x


@triton.jit
def load_inside(pointers, inside, PADDED: tl.constexpr):
    if PADDED:
        x = tl.load(pointers, mask=inside, other=0.0)
    else:
        x = tl.load(pointers)
    return x


@triton.jit
def store_heads(pointers, x, there, inside, PADDED: tl.constexpr):
    if PADDED:
        tl.store(pointers, x, mask=there & inside)
    else:
        tl.store(pointers, x, mask=there)


@triton.jit
def join_block(query, key, value, seen, best, total, acc, scale_log2, MASKED: tl.constexpr, PRECISION: tl.constexpr):
    """The keys and values of a block join the running softmax: largest score, sum of weights, weighted sum of values."""
    # Scaled behind the mask, so that both forms round alike (a product and a difference become one operation, or do not).
    score = tl.dot(query, tl.trans(key), input_precision=PRECISION)
    if MASKED:
        score = tl.where(seen, score, -float("inf"))
    new_best = tl.maximum(best, tl.max(score, 1) * scale_log2)
    weight = tl.exp2(score * scale_log2 - new_best[:, None])
    keep = tl.exp2(best - new_best)
    acc = tl.dot(weight.to(value.dtype), value, acc * keep[:, None], input_precision=PRECISION)
    return new_best, total * keep + tl.sum(weight, 1), acc


@triton.jit
def rotate(x, partner, norm, norm_partner, cos, sin, eps, size, NORM: tl.constexpr, D: tl.constexpr):
    """RMSNorm of heads (Qwen3) and rotary positions (Su et al. 2021, arXiv 2104.09864), halves as in GPT-NeoX: the partner of
    element d is d + size/2, negative, or d - size/2. Rounded where transformers rounds. x (heads, D)."""
    a = x.to(tl.float32)
    b = partner.to(tl.float32)
    if NORM:
        scale = tl.rsqrt(tl.sum(a * a, 1) / size + eps)[:, None]
        a = ((a * scale).to(x.dtype) * norm).to(tl.float32)
        b = ((b * scale).to(x.dtype) * norm_partner).to(tl.float32)
    half = (tl.arange(0, D) < size // 2)[None, :]
    return (a * cos + tl.where(half, -b, b) * sin).to(x.dtype)


@triton.jit
def fresh_heads(source, norm, cos, sin, eps, there, size, NORM: tl.constexpr, D: tl.constexpr, PADDED: tl.constexpr):
    """Heads as the projection left them, rotated: source (heads, 1) is where each begins. Read past the L1, which may still hold what was
    there before where a kernel is launched programmatically."""
    d = tl.arange(0, D)
    inside = (d < size)[None, :]
    partner = (d + size // 2) % size
    if PADDED:
        there = there & inside
    x = tl.load(source + d[None, :], mask=there, other=0.0, cache_modifier=".cg")
    x_partner = tl.load(source + partner[None, :], mask=there, other=0.0, cache_modifier=".cg")
    if NORM:
        weight = load_inside(norm + d, d < size, PADDED)[None, :]
        weight_partner = load_inside(norm + partner, d < size, PADDED)[None, :]
        x = rotate(x, x_partner, weight, weight_partner, cos, sin, eps, size, True, D)
    else:
        x = rotate(x, x_partner, x, x, cos, sin, eps, size, False, D)
    return x


@triton.jit
def join_partial(at, there, size, best, total, acc, D: tl.constexpr, PADDED: tl.constexpr):
    """What another program found joins the running softmax: at (heads) points to sums of values, behind which are the largest score and
    the sum of weights."""
    other = tl.load(at + size, mask=there, other=-float("inf"), cache_modifier=".cg")
    other_total = tl.load(at + size + 1, mask=there, other=0.0, cache_modifier=".cg")
    d = tl.arange(0, D)[None, :]
    there = there[:, None]
    if PADDED:
        there = there & (d < size)
    other_acc = tl.load(at[:, None] + d, mask=there, other=0.0, cache_modifier=".cg")
    new_best = tl.maximum(best, other)
    keep = tl.exp2(best - new_best)
    weight = tl.exp2(other - new_best)
    return new_best, total * keep + other_total * weight, acc * keep[:, None] + other_acc * weight[:, None]


@triton.jit
def paged_shared(qkv, q_norm, rope, keys, values, tables, positions, items, members, partial, table_stride, heads, kv_heads,
                 scale_log2, eps, head_dim, NORM: tl.constexpr, ROWS: tl.constexpr, D: tl.constexpr, PADDED: tl.constexpr,
                 BLOCK: tl.constexpr, PRECISION: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """Blocks that several rows share are read once for all of them (Hydragen: Juravsky et al. 2024, arXiv 2402.05099): program (item, kv
    head) -> partial (items, kv_heads, ROWS, head_dim + 2) for paged_decode with SHARED: sum of values, largest score, sum of weights.

    items (n, 4): the first of the item's rows in `members` (row numbers), how many there are (0: nothing is done), the first block, the
    one behind the last. qkv and rope as in paged_decode. A key head's queries of one row after those of another fill the tile's rows.
    """
    if PDL:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()  # paged_decode, which waits before it reads `partial`
    item = items + tl.program_id(0) * 4
    kv = tl.program_id(1)
    if PADDED:
        size = head_dim
    else:
        size: tl.constexpr = D
    first_member = tl.load(item)
    group = heads // kv_heads
    m = tl.arange(0, ROWS)
    here = m // group < tl.load(item + 1)
    row = tl.load(members + first_member + m // group, mask=here, other=0).to(tl.int64)
    position = tl.load(positions + row, mask=here, other=0).to(tl.int64)
    d = tl.arange(0, D)
    inside = (d < size)[None, :]
    there = here[:, None]
    angle = rope + position[:, None] * size + (d % (size // 2))[None, :]
    cos = tl.load(angle, mask=there, other=0.0)
    sin = tl.load(angle + size // 2, mask=there, other=0.0)
    source = qkv + (row * (heads + 2 * kv_heads) + kv * group + m % group)[:, None] * size
    q = fresh_heads(source, q_norm, cos, sin, eps, there, size, NORM, D, PADDED)
    best = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    n = tl.arange(0, BLOCK)
    in_block = n[:, None] * size + d[None, :]
    table = tables + tl.load(members + first_member).to(tl.int64) * table_stride
    for b in range(tl.load(item + 2), tl.load(item + 3)):
        base = (tl.load(table + b).to(tl.int64) * kv_heads + kv) * (BLOCK * size)
        block_keys = load_inside(keys + base + in_block, inside, PADDED)
        block_values = load_inside(values + base + in_block, inside, PADDED)
        best, total, acc = join_block(q, block_keys, block_values, n, best, total, acc, scale_log2, False, PRECISION)
    to = partial + ((tl.program_id(0).to(tl.int64) * kv_heads + kv) * ROWS + m)[:, None] * (size + 2)
    store_heads(to + d[None, :], acc, there, inside, PADDED)
    tl.store(to + size, best[:, None], mask=there)
    tl.store(to + size + 1, total[:, None], mask=there)


@triton.jit
def paged_decode(qkv, q_norm, k_norm, rope, keys, values, tables, positions, out, partial, shares, table_stride, heads, kv_heads,
                 scale_log2, eps, blocks_each, head_dim, FRESH: tl.constexpr, NORM: tl.constexpr, SPLIT: tl.constexpr,
                 SHARED: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr,
                 PRECISION: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """One token a row against its sequence: program (row, kv head and tile of its group, split) -> out (rows, heads * head_dim).

    FRESH: qkv (rows, (heads + 2 kv_heads) * head_dim) is as the projection left it; the row's own key and value are put into the cache
    here. Otherwise they are there, and qkv (rows, heads * head_dim) holds rotated queries. rope (positions, 2, head_dim/2): cosines, sines.
    SPLIT: blocks are shared out, blocks_each to a program (0: evenly), and `partial` (rows, heads, splits, head_dim + 2) is written for
    join_splits: sum of values, largest score, sum of weights.
    SHARED > 0, of FRESH rows, not SPLIT: the first blocks of a row are left to paged_shared, whose ROWS it is and whose `partial` is read.
    shares (rows, 4): how many blocks; the first item of them, how many items there are, the row's place among the items' rows.
    """
    row = tl.program_id(0).to(tl.int64)
    group = heads // kv_heads
    tiles = (group + GROUP - 1) // GROUP
    kv = tl.program_id(1) // tiles
    member = (tl.program_id(1) % tiles) * GROUP + tl.arange(0, GROUP)
    there = (member < group)[:, None]
    head = kv * group + member
    if PADDED:
        size = head_dim
    else:
        size: tl.constexpr = D
    d = tl.arange(0, D)
    inside = (d < size)[None, :]
    partner = (d + size // 2) % size
    n = tl.arange(0, BLOCK)
    position = tl.load(positions + row)
    table = tables + row * table_stride
    if SHARED > 0:
        share = shares + row * 4
        shared_blocks = tl.load(share)
        item = tl.load(share + 1).to(tl.int64)
        items = tl.load(share + 2)
        place = tl.load(share + 3) * group
    own = ((tl.load(table + position // BLOCK).to(tl.int64) * kv_heads + kv) * BLOCK + position % BLOCK) * size
    if FRESH:
        angle = rope + position.to(tl.int64) * size + (d % (size // 2))[None, :]
        cos = tl.load(angle)
        sin = tl.load(angle + size // 2)
        # Programmatic dependent launch: what is above may run while the kernel before this one ends, which writes qkv. Where that is
        # paged_shared, the one before it has ended, and what paged_shared writes is read last.
        if PDL and SHARED == 0:
            tl.extra.cuda.gdc_wait()
        source = qkv + row * (heads + 2 * kv_heads) * size
        q = fresh_heads(source + head[:, None] * size, q_norm, cos, sin, eps, there, size, NORM, D, PADDED)
        one = tl.zeros((1, 1), tl.int32)
        k = fresh_heads(source + (heads + kv + one) * size, k_norm, cos, sin, eps, one == 0, size, NORM, D, PADDED)
        v_there = (one == 0) & inside
        v = tl.load(source + (heads + kv_heads + kv) * size + d[None, :], mask=v_there, other=0.0, cache_modifier=".cg")
        if (tl.program_id(1) % tiles == 0) & (tl.program_id(2) == 0):
            if PADDED:
                tl.store(keys + own + d[None, :], k, mask=inside)
                tl.store(values + own + d[None, :], v, mask=inside)
            else:
                tl.store(keys + own + d[None, :], k)
                tl.store(values + own + d[None, :], v)
    else:
        q = load_heads(qkv + (row * heads + head[:, None]) * size + d[None, :], there, inside, PADDED)
        k = load_inside(keys + own + d, d < size, PADDED)[None, :]
        v = load_inside(values + own + d, d < size, PADDED)[None, :]
    own_score = tl.sum(q.to(tl.float32) * k.to(tl.float32), 1) * scale_log2
    if SPLIT:
        first_program = tl.program_id(2) == 0
        best = tl.where(first_program, own_score, -float("inf"))
        total = tl.where(first_program, 1.0, 0.0) + tl.zeros((GROUP,), tl.float32)
        acc = tl.where(first_program, v.to(tl.float32), 0.0) + tl.zeros((GROUP, D), tl.float32)
        blocks = (position + BLOCK - 1) // BLOCK
        each = blocks_each
        if each == 0:
            each = (blocks + tl.num_programs(2) - 1) // tl.num_programs(2)
        first = tl.program_id(2) * each
        last = tl.minimum(first + each, position // BLOCK)
        has_rest = (position % BLOCK != 0) & (first <= position // BLOCK) & (position // BLOCK < first + each)
    else:
        best = own_score
        total = tl.full((GROUP,), 1.0, tl.float32)
        acc = v.to(tl.float32) + tl.zeros((GROUP, D), tl.float32)
        first = 0
        if SHARED > 0:
            first = shared_blocks
        last = position // BLOCK
        has_rest = position % BLOCK != 0
    in_block = n[:, None] * size + d[None, :]
    for b in range(first, last):
        base = (tl.load(table + b).to(tl.int64) * kv_heads + kv) * (BLOCK * size)
        block_keys = load_inside(keys + base + in_block, inside, PADDED)
        block_values = load_inside(values + base + in_block, inside, PADDED)
        best, total, acc = join_block(q, block_keys, block_values, n, best, total, acc, scale_log2, False, PRECISION)
    if has_rest:
        base = (tl.load(table + position // BLOCK).to(tl.int64) * kv_heads + kv) * (BLOCK * size)
        seen = n < position % BLOCK
        block_keys = load_heads(keys + base + in_block, seen[:, None], inside, PADDED)
        block_values = load_heads(values + base + in_block, seen[:, None], inside, PADDED)
        best, total, acc = join_block(q, block_keys, block_values, seen[None, :], best, total, acc, scale_log2, True, PRECISION)
    if SHARED > 0:
        if PDL:
            tl.extra.cuda.gdc_wait()
        for i in range(0, items):
            at = partial + (((item + i) * kv_heads + kv) * SHARED + place + member) * (size + 2)
            best, total, acc = join_partial(at, member < group, size, best, total, acc, D, PADDED)
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    if SPLIT:
        to = partial + ((row * heads + head[:, None]) * tl.num_programs(2) + tl.program_id(2)) * (size + 2)
        store_heads(to + d[None, :], acc, there, inside, PADDED)
        tl.store(to + size, best[:, None], mask=there)
        tl.store(to + size + 1, total[:, None], mask=there)
    else:
        at = out + (row * heads + head[:, None]) * size + d[None, :]
        store_heads(at, (acc / total[:, None]).to(out.dtype.element_ty), there, inside, PADDED)


@triton.jit
def join_splits(partial, out, splits, head_dim, D: tl.constexpr, PADDED: tl.constexpr):
    """What the programs of paged_decode with SPLIT found, in order: program (row * heads + head) -> out (rows, heads * head_dim)."""
    head = tl.program_id(0).to(tl.int64)
    if PADDED:
        size = head_dim
    else:
        size: tl.constexpr = D
    d = tl.arange(0, D)
    inside = d < size
    at = partial + head * splits * (size + 2)
    best = tl.load(at + size)
    total = tl.load(at + size + 1)
    acc = load_inside(at + d, inside, PADDED)
    for split in range(1, splits):
        at += size + 2
        other = tl.load(at + size)
        new_best = tl.maximum(best, other)
        keep = tl.exp2(best - new_best)
        weight = tl.exp2(other - new_best)
        acc = acc * keep + load_inside(at + d, inside, PADDED) * weight
        total = total * keep + tl.load(at + size + 1) * weight
        best = new_best
    if PADDED:
        tl.store(out + head * size + d, (acc / total).to(out.dtype.element_ty), mask=inside)
    else:
        tl.store(out + head * size + d, (acc / total).to(out.dtype.element_ty))


@triton.jit
def rope_to_cache(qkv, q_norm, k_norm, rope, keys, values, tables, table_rows, positions, queries, table_stride, heads, kv_heads,
                  eps, head_dim, NORM: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr, PADDED: tl.constexpr,
                  BLOCK: tl.constexpr):  # fmt: skip
    """What paged_decode does to fresh rows, for any tokens: program (token, TILE of its heads: queries, keys, values).
    queries (tokens, heads * head_dim); token i belongs to row table_rows[i] of `tables`."""
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * TILE + tl.arange(0, TILE)
    if PADDED:
        size = head_dim
    else:
        size: tl.constexpr = D
    d = tl.arange(0, D)
    inside = (d < size)[None, :]
    partner = (d + size // 2) % size
    source = qkv + (token * (heads + 2 * kv_heads) + head)[:, None] * size
    there = (head < heads + 2 * kv_heads)[:, None]
    plain = load_heads(source + d[None, :], there, inside, PADDED)
    x_partner = load_heads(source + partner[None, :], there, inside, PADDED)
    position = tl.load(positions + token)
    cos = tl.load(rope + position.to(tl.int64) * size + d % (size // 2))[None, :]
    sin = tl.load(rope + position.to(tl.int64) * size + size // 2 + d % (size // 2))[None, :]
    is_query = (head < heads)[:, None]
    if NORM:
        norm = tl.where(is_query, load_inside(q_norm + d, d < size, PADDED)[None, :], load_inside(k_norm + d, d < size, PADDED)[None, :])
        norm_partner = tl.where(is_query, load_inside(q_norm + partner, d < size, PADDED)[None, :],
                                load_inside(k_norm + partner, d < size, PADDED)[None, :])  # fmt: skip
        x = rotate(plain, x_partner, norm, norm_partner, cos, sin, eps, size, True, D)
    else:
        x = rotate(plain, x_partner, plain, plain, cos, sin, eps, size, False, D)
    store_heads(queries + (token * heads + head)[:, None] * size + d[None, :], x, is_query, inside, PADDED)
    block = tl.load(tables + tl.load(table_rows + token).to(tl.int64) * table_stride + position // BLOCK).to(tl.int64)
    key = head - heads
    at = ((block * kv_heads + key % kv_heads) * BLOCK + position % BLOCK)[:, None] * size + d[None, :]
    store_heads(keys + at, x, ((key >= 0) & (key < kv_heads))[:, None], inside, PADDED)
    store_heads(values + at, plain, ((key >= kv_heads) & (key < 2 * kv_heads))[:, None], inside, PADDED)


@triton.jit
def paged_prefill(queries, keys, values, tables, tiles, out, table_stride, heads, kv_heads, scale_log2, head_dim,
                  ROWS: tl.constexpr, D: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Causal attention of runs of tokens whose keys and values are in the cache already: program (tile, head).

    tiles (n, 4): a tile's first token in queries (tokens, heads * head_dim), how many tokens (at most ROWS), the position of the first,
    the row of `tables`.
    """
    tile = tiles + tl.program_id(0) * 4
    head = tl.program_id(1)
    kv = head // (heads // kv_heads)
    count = tl.load(tile + 1)
    start = tl.load(tile + 2)
    table = tables + tl.load(tile + 3).to(tl.int64) * table_stride
    r = tl.arange(0, ROWS)
    if PADDED:
        size = head_dim
    else:
        size: tl.constexpr = D
    d = tl.arange(0, D)
    inside = (d < size)[None, :]
    n = tl.arange(0, BLOCK)
    at = ((tl.load(tile).to(tl.int64) + r)[:, None] * heads + head) * size + d[None, :]
    q = load_heads(queries + at, (r < count)[:, None], inside, PADDED)
    best = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    in_block = n[:, None] * size + d[None, :]
    whole = (start + 1) // BLOCK  # blocks that every token of the tile sees to their ends
    for b in range(0, whole):
        base = (tl.load(table + b).to(tl.int64) * kv_heads + kv) * (BLOCK * size)
        block_keys = load_inside(keys + base + in_block, inside, PADDED)
        block_values = load_inside(values + base + in_block, inside, PADDED)
        best, total, acc = join_block(q, block_keys, block_values, n, best, total, acc, scale_log2, False, PRECISION)
    for b in range(whole, (start + count + BLOCK - 1) // BLOCK):
        base = (tl.load(table + b).to(tl.int64) * kv_heads + kv) * (BLOCK * size)
        there = (b * BLOCK + n < start + count)[:, None]
        seen = (b * BLOCK + n)[None, :] <= (start + r)[:, None]
        block_keys = load_heads(keys + base + in_block, there, inside, PADDED)
        block_values = load_heads(values + base + in_block, there, inside, PADDED)
        best, total, acc = join_block(q, block_keys, block_values, seen, best, total, acc, scale_log2, True, PRECISION)
    store_heads(out + at, (acc / total[:, None]).to(out.dtype.element_ty), (r < count)[:, None], inside, PADDED)
