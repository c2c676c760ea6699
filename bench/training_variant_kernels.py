"""Training's kernels (kernels/training.py, swiglu of kernels/decoder.py) in other forms, for bench/training_kernel_variants.py. Arguments
and results are those of today's kernels.

Pieces: a row is cut into PIECES tiles of PIECE columns, which all have one layout, so that no lane waits for columns that are not there
(896 of 1,024) and a row's sums stay within 16 or 32 lanes. HINT: where what is read once goes in the L2 ("": as ever, "evict_first").
"""
import triton
import triton.language as tl


@triton.jit
def add_norm(x, delta, weight, total, out, rows, n, eps, ROWS: tl.constexpr, PIECE: tl.constexpr, PIECES: tl.constexpr, HINT: tl.constexpr):
    at = tl.arange(0, PIECE)[None, :]
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    start = row.to(tl.int64) * n + at
    square = tl.zeros((ROWS,), tl.float32)
    loaded = ()
    for i in tl.static_range(PIECES):
        mask = (row < rows) & (i * PIECE + at < n)
        loaded = loaded + ((tl.load(x + start + i * PIECE, mask=mask, other=0.0, eviction_policy=HINT),
                            tl.load(delta + start + i * PIECE, mask=mask, other=0.0, eviction_policy=HINT)),)  # fmt: skip
    sums = ()
    for i in tl.static_range(PIECES):
        a = loaded[i][0]
        v = (a.to(tl.float32) + loaded[i][1].to(tl.float32)).to(a.dtype)
        tl.store(total + start + i * PIECE, v, mask=(row < rows) & (i * PIECE + at < n))
        wide = v.to(tl.float32)
        square += tl.sum(wide * wide, 1)
        sums = sums + (v,)
    scale = tl.rsqrt(square / n + eps)[:, None]
    for i in tl.static_range(PIECES):
        mask = (row < rows) & (i * PIECE + at < n)
        w = tl.load(weight + row * 0 + i * PIECE + at, mask=mask, other=0.0)  # a tile, in the layout of the rows
        tl.store(out + start + i * PIECE, (sums[i].to(tl.float32) * scale).to(w.dtype) * w, mask=mask)


@triton.jit
def norm_backward(x, weight, d_out, d_x, parts, rows, n, eps, ADD: tl.constexpr, ROWS: tl.constexpr, PIECE: tl.constexpr,
                  PIECES: tl.constexpr, AHEAD: tl.constexpr):  # fmt: skip
    """AHEAD: tiles on their way through shared memory (1: none)."""
    at = tl.arange(0, PIECE)[None, :]
    sums = ()
    w = ()
    for i in tl.static_range(PIECES):
        sums = sums + (tl.zeros((ROWS, PIECE), tl.float32),)
        every = i * PIECE + at + tl.arange(0, ROWS)[:, None] * 0
        w = w + (tl.load(weight + every, mask=every < n, other=0.0),)
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0), num_stages=AHEAD):
        row = (tile * ROWS + tl.arange(0, ROWS))[:, None]
        start = row.to(tl.int64) * n + at
        v = ()
        d = ()
        passed = ()
        for i in tl.static_range(PIECES):
            mask = (row < rows) & (i * PIECE + at < n)
            v = v + (tl.load(x + start + i * PIECE, mask=mask, other=0.0),)
            d = d + (tl.load(d_out + start + i * PIECE, mask=mask, other=0.0),)
            if ADD:
                passed = passed + (tl.load(d_x + start + i * PIECE, mask=mask, other=0.0),)
        square = tl.zeros((ROWS,), tl.float32)
        along = tl.zeros((ROWS,), tl.float32)
        for i in tl.static_range(PIECES):
            wide = v[i].to(tl.float32)
            square += tl.sum(wide * wide, 1)
            along += tl.sum(d[i].to(tl.float32) * w[i].to(tl.float32) * wide, 1)
        scale = tl.rsqrt(square / n + eps)[:, None]
        along = (along / n)[:, None] * scale
        new = ()
        for i in tl.static_range(PIECES):
            normal = v[i].to(tl.float32) * scale
            g = d[i].to(tl.float32)
            new = new + (sums[i] + g * normal,)
            r = scale * (g * w[i].to(tl.float32) - normal * along)
            if ADD:
                r += passed[i].to(tl.float32)
            tl.store(d_x + start + i * PIECE, r.to(d_x.dtype.element_ty), mask=(row < rows) & (i * PIECE + at < n))
        sums = new
    for i in tl.static_range(PIECES):
        columns = i * PIECE + tl.arange(0, PIECE)
        tl.store(parts + tl.program_id(0).to(tl.int64) * n + columns, tl.sum(sums[i], 0), mask=columns < n)


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
def rope_heads(qkv, q_norm, k_norm, rope, positions, out, rows, heads, kv_heads, eps, NORM: tl.constexpr, TOKENS: tl.constexpr,
               HEADS: tl.constexpr, KV_HEADS: tl.constexpr, D: tl.constexpr):  # fmt: skip
    """A program: all heads of TOKENS tokens, whose cosines and sines are loaded once. rows: tokens."""
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    d = tl.arange(0, D // 2)[None, :]
    angle = rope + tl.load(positions + token, mask=token < rows, other=0).to(tl.int64)[:, None] * D + d
    token = token[:, None]
    mask = token < rows
    far = token.to(tl.int64)
    cos = tl.load(angle)
    sin = tl.load(angle + D // 2)
    source = qkv + far * ((HEADS + 2 * KV_HEADS) * D) + d
    to = out + far * ((HEADS + KV_HEADS) * D) + d
    every = token * 0 + d
    for head in tl.static_range(HEADS + KV_HEADS):
        x = tl.load(source + head * D, mask=mask, other=0.0)
        y = tl.load(source + head * D + D // 2, mask=mask, other=0.0)
        first = x.to(tl.float32)
        second = y.to(tl.float32)
        if NORM:
            norm = q_norm if head < HEADS else k_norm
            scale = tl.rsqrt((tl.sum(first * first, 1) + tl.sum(second * second, 1)) / D + eps)[:, None]
            first = ((first * scale).to(x.dtype) * tl.load(norm + every)).to(tl.float32)
            second = ((second * scale).to(x.dtype) * tl.load(norm + D // 2 + every)).to(tl.float32)
        tl.store(to + head * D, (first * cos - second * sin).to(x.dtype), mask=mask)
        tl.store(to + head * D + D // 2, (second * cos + first * sin).to(x.dtype), mask=mask)


@triton.jit
def rope_heads_backward(qkv, q_norm, k_norm, rope, positions, d_out, d_qkv, parts, rows, heads, kv_heads, eps, NORM: tl.constexpr,
                        TOKENS: tl.constexpr, HEADS: tl.constexpr, KV_HEADS: tl.constexpr, D: tl.constexpr):  # fmt: skip
    """Programs share out tiles of TOKENS tokens. rows: tokens."""
    d = tl.arange(0, D // 2)[None, :]
    q_first = tl.zeros((TOKENS, D // 2), tl.float32)
    q_second = tl.zeros((TOKENS, D // 2), tl.float32)
    k_first = tl.zeros((TOKENS, D // 2), tl.float32)
    k_second = tl.zeros((TOKENS, D // 2), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, TOKENS), tl.num_programs(0)):
        token = tile * TOKENS + tl.arange(0, TOKENS)
        angle = rope + tl.load(positions + token, mask=token < rows, other=0).to(tl.int64)[:, None] * D + d
        token = token[:, None]
        mask = token < rows
        far = token.to(tl.int64)
        cos = tl.load(angle)
        sin = tl.load(angle + D // 2)
        gradient = d_out + far * ((HEADS + KV_HEADS) * D) + d
        place = far * ((HEADS + 2 * KV_HEADS) * D) + d
        every = token * 0 + d
        for head in tl.static_range(HEADS + KV_HEADS):
            first = tl.load(gradient + head * D, mask=mask, other=0.0).to(tl.float32)
            second = tl.load(gradient + head * D + D // 2, mask=mask, other=0.0).to(tl.float32)
            a = first * cos + second * sin
            b = second * cos - first * sin
            if NORM:
                x = tl.load(qkv + place + head * D, mask=mask, other=0.0).to(tl.float32)
                y = tl.load(qkv + place + head * D + D // 2, mask=mask, other=0.0).to(tl.float32)
                norm = q_norm if head < HEADS else k_norm
                scale = tl.rsqrt((tl.sum(x * x, 1) + tl.sum(y * y, 1)) / D + eps)[:, None]
                x = x * scale
                y = y * scale
                if head < HEADS:
                    q_first += a * x
                    q_second += b * y
                else:
                    k_first += a * x
                    k_second += b * y
                a = a * tl.load(norm + every).to(tl.float32)
                b = b * tl.load(norm + D // 2 + every).to(tl.float32)
                along = ((tl.sum(a * x, 1) + tl.sum(b * y, 1)) / D)[:, None]
                a = scale * (a - x * along)
                b = scale * (b - y * along)
            tl.store(d_qkv + place + head * D, a.to(d_qkv.dtype.element_ty), mask=mask)
            tl.store(d_qkv + place + head * D + D // 2, b.to(d_qkv.dtype.element_ty), mask=mask)
    if NORM:
        to = parts + tl.program_id(0).to(tl.int64) * D + tl.arange(0, D // 2)
        tl.store(to, tl.sum(q_first, 0))
        tl.store(to + D // 2, tl.sum(q_second, 0))
        to += tl.num_programs(0).to(tl.int64) * D
        tl.store(to, tl.sum(k_first, 0))
        tl.store(to + D // 2, tl.sum(k_second, 0))


@triton.jit
def swiglu(gate_up, out, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr, HINT: tl.constexpr):
    """Program (tile of rows, tile of columns)."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (at < n)
    row = row.to(tl.int64)
    gate = tl.load(gate_up + row * 2 * n + at, mask=mask, other=0.0, eviction_policy=HINT)
    up = tl.load(gate_up + row * 2 * n + n + at, mask=mask, other=0.0, eviction_policy=HINT)
    wide = gate.to(tl.float32)
    tl.store(out + row * n + at, (wide * tl.sigmoid(wide)).to(gate.dtype) * up, mask=mask)


@triton.jit
def swiglu_backward(gate_up, d_hidden, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr, AHEAD: tl.constexpr, HINT: tl.constexpr):
    """Program (which shares out tiles of rows, tile of columns)."""
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0), num_stages=AHEAD):
        row = (tile * ROWS + tl.arange(0, ROWS))[:, None]
        mask = (row < rows) & (at < n)
        row = row.to(tl.int64)
        gate_at = gate_up + row * 2 * n + at
        gate = tl.load(gate_at, mask=mask, other=0.0).to(tl.float32)
        up = tl.load(gate_at + n, mask=mask, other=0.0).to(tl.float32)
        d = tl.load(d_hidden + row * n + at, mask=mask, other=0.0, eviction_policy=HINT).to(tl.float32)
        sigmoid = tl.sigmoid(gate)
        silu = gate * sigmoid
        tl.store(gate_at, (d * up * (sigmoid + silu * (1.0 - sigmoid))).to(gate_up.dtype.element_ty), mask=mask)
        tl.store(gate_at + n, (d * silu).to(gate_up.dtype.element_ty), mask=mask)


@triton.jit
def cross_entropy_kept(logits, targets, loss_weights, losses, stride, vocabulary, scale, GRADIENT: tl.constexpr, BLOCK: tl.constexpr,
                       KEPT: tl.constexpr, HINT: tl.constexpr):  # fmt: skip
    """As cross_entropy; the first KEPT tiles stay in registers, the others are read twice."""
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(targets + row)
    weight = tl.load(loss_weights + row)
    learns = (target >= 0) & (weight != 0)
    source = logits + row * stride
    chosen = tl.load(source + tl.where(learns, target, 0)).to(tl.float32)
    best = tl.full((BLOCK // 8,), -1e30, tl.float32)
    total = tl.zeros((BLOCK // 8,), tl.float32)
    lane = tl.arange(0, BLOCK // 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    kept = ()
    for i in tl.static_range(KEPT):
        kept = kept + (tl.load(source + i * BLOCK + lane, mask=(i * BLOCK + lane < stride) & learns, other=0.0),)
    for i in tl.static_range(KEPT):
        x = tl.where(i * BLOCK + lane < vocabulary, kept[i].to(tl.float32) * 1.4426950408889634, -float("inf"))
        new_best = tl.maximum(best, tl.max(x, 1))
        total = total * tl.exp2(best - new_best) + tl.sum(tl.exp2(x - new_best[:, None]), 1)
        best = new_best
    for start in range(KEPT * BLOCK, tl.where(learns, vocabulary, 0), BLOCK):
        at = start + lane
        x = tl.load(source + at, mask=at < stride, other=-float("inf")).to(tl.float32)
        x = tl.where(at < vocabulary, x * 1.4426950408889634, -float("inf"))
        new_best = tl.maximum(best, tl.max(x, 1))
        total = total * tl.exp2(best - new_best) + tl.sum(tl.exp2(x - new_best[:, None]), 1)
        best = new_best
    largest = tl.max(best, 0)
    lse = tl.where(learns, largest + tl.log2(tl.sum(total * tl.exp2(best - largest), 0)), 0.0)
    tl.store(losses + row, tl.where(learns, weight * (lse * 0.6931471805599453 - chosen), 0.0))
    if GRADIENT:
        factor = tl.where(learns, weight * scale, 0.0)
        last = (vocabulary - 1) // BLOCK * BLOCK
        for begin in range(KEPT * BLOCK, vocabulary, BLOCK):
            at = last - (begin - KEPT * BLOCK) + lane
            x = tl.load(source + at, mask=(at < stride) & learns, other=0.0, eviction_policy=HINT).to(tl.float32)
            d = factor * (tl.exp2(x * 1.4426950408889634 - lse) - tl.where(at == target, 1.0, 0.0))
            tl.store(source + at, d.to(logits.dtype.element_ty), mask=at < stride, eviction_policy=HINT)
        for i in tl.static_range(KEPT):
            at = i * BLOCK + lane
            d = factor * (tl.exp2(kept[i].to(tl.float32) * 1.4426950408889634 - lse) - tl.where(at == target, 1.0, 0.0))
            tl.store(source + at, d.to(logits.dtype.element_ty), mask=at < stride, eviction_policy=HINT)


@triton.jit
def cross_entropy_rows(logits, targets, loss_weights, losses, rows, stride, vocabulary, scale, GRADIENT: tl.constexpr,
                       ROWS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """ROWS whole rows a program, each one tile: one read, one write."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    target = tl.load(targets + row, mask=row < rows, other=-1)
    weight = tl.load(loss_weights + row, mask=row < rows, other=0.0)
    learns = (target >= 0) & (weight != 0)
    at = tl.arange(0, BLOCK)[None, :]
    place = logits + row.to(tl.int64)[:, None] * stride + at
    x = tl.load(place, mask=learns[:, None] & (at < stride), other=0.0).to(tl.float32)
    is_target = at == target[:, None]
    chosen = tl.sum(tl.where(is_target, x, 0.0), 1)
    x = tl.where(at < vocabulary, x * 1.4426950408889634, -float("inf"))
    largest = tl.max(x, 1)
    x = tl.exp2(x - largest[:, None])
    total = tl.sum(x, 1)
    loss = weight * ((largest + tl.log2(total)) * 0.6931471805599453 - chosen)
    tl.store(losses + row, tl.where(learns, loss, 0.0), mask=row < rows)
    if GRADIENT:
        factor = tl.where(learns, weight * scale, 0.0)[:, None]
        d = factor * (x / total[:, None] - tl.where(is_target, 1.0, 0.0))
        tl.store(place, d.to(logits.dtype.element_ty), mask=(row < rows)[:, None] & (at < stride))


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
