"""Training of a decoder: what stands between its products, forward and backward, its loss, and the optimizer's step.

Nothing here depends on the order in which programs run: a sum over tokens that becomes a weight's gradient is made of parts, one a
program, which add_parts adds up in their order. Gradients of activations have the weights' dtype, gradients of weights are float32.
Attention is in packed_attention.py.
"""
import triton
import triton.language as tl


@triton.jit
def normed(v, weight, at, n, eps):
    """v (rows, columns) / rms(v) * weight, of n columns `at`, as decoder.rms_norm."""
    wide = v.to(tl.float32)
    scale = tl.rsqrt(tl.sum(wide * wide, 1) / n + eps)[:, None]
    return (wide * scale).to(v.dtype) * tl.load(weight + at, mask=at < n, other=0.0)[None, :]


@triton.jit
def add_norm(x, delta, weight, total, out, rows, n, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """total = x + delta, out = total / rms(total) * weight, as decoder.rms_norm; all (rows, n), ROWS rows a program."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    mask = (row < rows)[:, None] & (at < n)[None, :]
    place = row.to(tl.int64)[:, None] * n + at[None, :]
    v = tl.load(x + place, mask=mask, other=0.0)
    v = (v.to(tl.float32) + tl.load(delta + place, mask=mask, other=0.0).to(tl.float32)).to(v.dtype)
    tl.store(total + place, v, mask=mask)
    tl.store(out + place, normed(v, weight, at, n, eps), mask=mask)


@triton.jit
def embed_norm(embedding, ids, weight, x, out, rows, n, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """x = the rows of embedding (vocabulary, n) that ids (rows) name, out = x / rms(x) * weight, as decoder.rms_norm; ROWS rows a
    program."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    mask = (row < rows)[:, None] & (at < n)[None, :]
    token = tl.load(ids + row, mask=row < rows, other=0).to(tl.int64)
    v = tl.load(embedding + token[:, None] * n + at[None, :], mask=mask, other=0.0)
    place = row.to(tl.int64)[:, None] * n + at[None, :]
    tl.store(x + place, v, mask=mask)
    tl.store(out + place, normed(v, weight, at, n, eps), mask=mask)


@triton.jit
def norm_backward(x, weight, d_out, d_x, parts, rows, n, eps, ADD: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
                  AHEAD: tl.constexpr):  # fmt: skip
    """d_out, of x / rms(x) * weight -> d_x (ADD: is added to it), all (rows, n), and parts (programs, n) of the weight's gradient.
    Programs share out the tiles of ROWS rows, of which AHEAD are on their way; both of a row's sums are taken at once."""
    at = tl.arange(0, BLOCK)
    w = tl.load(weight + at, mask=at < n, other=0.0).to(tl.float32)[None, :]
    acc = tl.zeros((ROWS, BLOCK), tl.float32)
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0), num_stages=AHEAD):
        row = tile * ROWS + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & (at < n)[None, :]
        place = row.to(tl.int64)[:, None] * n + at[None, :]
        v = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
        d = tl.load(d_out + place, mask=mask, other=0.0).to(tl.float32)
        if ADD:  # loaded before the sums, which wait
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
def sum_rows(x, parts, rows, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """parts (shares, n) of the sum of the rows of x (rows, n): program (share of the tiles of ROWS rows, tile of columns)."""
    at = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = at < n
    acc = tl.zeros((ROWS, COLUMNS), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0)):
        row = tile * ROWS + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & inside[None, :]
        acc += tl.load(x + row.to(tl.int64)[:, None] * n + at[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(parts + tl.program_id(0).to(tl.int64) * n + at, tl.sum(acc, 0), mask=inside)


@triton.jit
def add_parts(parts, places, gradient, rows, n, ADD: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Vectors of n elements, which begin at `places` of the flat gradient: each becomes (ADD: is added) the sum of its own of the parts
    (vectors, rows, n). Program (tile of columns, vector)."""
    vector = tl.program_id(1)
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = at < n
    parts += vector.to(tl.int64) * rows * n
    acc = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        acc += tl.load(parts + row.to(tl.int64)[:, None] * n + at[None, :], mask=(row < rows)[:, None] & inside[None, :], other=0.0)
    to = gradient + tl.load(places + vector) + at
    total = tl.sum(acc, 0)
    if ADD:
        total += tl.load(to, mask=inside, other=0.0)
    tl.store(to, total, mask=inside)


@triton.jit
def rope_heads(qkv, q_norm, k_norm, rope, positions, out, rows, heads, kv_heads, eps, NORM: tl.constexpr, ROWS: tl.constexpr,
               D: tl.constexpr):  # fmt: skip
    """QK-norm and rotary positions: qkv (tokens, heads + 2 kv_heads, D) -> out (tokens, heads + kv_heads, D), whose `rows` heads of D
    elements programs share; each head is handled in halves, the pairs' parts, and rounded as kernels/attention.py: rotate. rope
    (positions, 2, D/2): cosines, sines."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    there = row < rows
    mask = there[:, None]
    both = heads + kv_heads
    token = row // both
    head = row % both
    d = tl.arange(0, D // 2)[None, :]
    source = qkv + (token.to(tl.int64) * (both + kv_heads) + head)[:, None] * D + d
    x = tl.load(source, mask=mask, other=0.0)
    y = tl.load(source + D // 2, mask=mask, other=0.0)
    dtype = x.dtype
    angle = rope + tl.load(positions + token, mask=there, other=0).to(tl.int64)[:, None] * D + d
    cos = tl.load(angle)
    sin = tl.load(angle + D // 2)
    first = x.to(tl.float32)
    second = y.to(tl.float32)
    if NORM:
        is_query = (head < heads)[:, None]
        scale = tl.rsqrt((tl.sum(first * first, 1) + tl.sum(second * second, 1)) / D + eps)[:, None]
        first = ((first * scale).to(dtype) * tl.where(is_query, tl.load(q_norm + d), tl.load(k_norm + d))).to(tl.float32)
        second = ((second * scale).to(dtype) * tl.where(is_query, tl.load(q_norm + D // 2 + d), tl.load(k_norm + D // 2 + d))).to(tl.float32)
    to = out + row.to(tl.int64)[:, None] * D + d
    tl.store(to, (first * cos - second * sin).to(dtype), mask=mask)
    tl.store(to + D // 2, (second * cos + first * sin).to(dtype), mask=mask)


@triton.jit
def rope_heads_backward(qkv, q_norm, k_norm, rope, positions, d_out, d_qkv, parts, rows, heads, kv_heads, eps, NORM: tl.constexpr,
                        ROWS: tl.constexpr, D: tl.constexpr):  # fmt: skip
    """d_out, of rope_heads' out -> the queries' and keys' part of d_qkv; parts (2, programs, D) of the norms' gradients: q, k.
    Programs share out the tiles of ROWS heads; each head is handled in halves, the pairs' parts."""
    both = heads + kv_heads
    d = tl.arange(0, D // 2)[None, :]
    q_first = tl.zeros((ROWS, D // 2), tl.float32)
    q_second = tl.zeros((ROWS, D // 2), tl.float32)
    k_first = tl.zeros((ROWS, D // 2), tl.float32)
    k_second = tl.zeros((ROWS, D // 2), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0)):
        row = tile * ROWS + tl.arange(0, ROWS)
        there = row < rows
        mask = there[:, None]
        token = row // both
        head = row % both
        angle = rope + tl.load(positions + token, mask=there, other=0).to(tl.int64)[:, None] * D + d
        cos = tl.load(angle)
        sin = tl.load(angle + D // 2)
        gradient = d_out + row.to(tl.int64)[:, None] * D + d
        first = tl.load(gradient, mask=mask, other=0.0).to(tl.float32)
        second = tl.load(gradient + D // 2, mask=mask, other=0.0).to(tl.float32)
        a = first * cos + second * sin
        b = second * cos - first * sin
        place = (token.to(tl.int64) * (both + kv_heads) + head)[:, None] * D + d
        if NORM:
            x = tl.load(qkv + place, mask=mask, other=0.0).to(tl.float32)
            y = tl.load(qkv + place + D // 2, mask=mask, other=0.0).to(tl.float32)
            scale = tl.rsqrt((tl.sum(x * x, 1) + tl.sum(y * y, 1)) / D + eps)[:, None]
            x = x * scale
            y = y * scale
            is_query = (head < heads)[:, None]
            q_first += tl.where(is_query, a * x, 0.0)
            q_second += tl.where(is_query, b * y, 0.0)
            k_first += tl.where(is_query, 0.0, a * x)
            k_second += tl.where(is_query, 0.0, b * y)
            a = a * tl.where(is_query, tl.load(q_norm + d), tl.load(k_norm + d)).to(tl.float32)
            b = b * tl.where(is_query, tl.load(q_norm + D // 2 + d), tl.load(k_norm + D // 2 + d)).to(tl.float32)
            along = ((tl.sum(a * x, 1) + tl.sum(b * y, 1)) / D)[:, None]
            a = scale * (a - x * along)
            b = scale * (b - y * along)
        tl.store(d_qkv + place, a.to(d_qkv.dtype.element_ty), mask=mask)
        tl.store(d_qkv + place + D // 2, b.to(d_qkv.dtype.element_ty), mask=mask)
    if NORM:
        to = parts + tl.program_id(0).to(tl.int64) * D + tl.arange(0, D // 2)
        tl.store(to, tl.sum(q_first, 0))
        tl.store(to + D // 2, tl.sum(q_second, 0))
        to += tl.num_programs(0).to(tl.int64) * D
        tl.store(to, tl.sum(k_first, 0))
        tl.store(to + D // 2, tl.sum(k_second, 0))


@triton.jit
def swiglu_backward(gate_up, d_hidden, n, BLOCK: tl.constexpr):
    """gate_up (rows, 2 n) becomes its gradient; d_hidden (rows, n): of silu(gate) * up. Program (row, block)."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    gate_at = gate_up + row * 2 * n + at
    gate = tl.load(gate_at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(gate_at + n, mask=mask, other=0.0).to(tl.float32)
    d = tl.load(d_hidden + row * n + at, mask=mask, other=0.0).to(tl.float32)
    sigmoid = tl.sigmoid(gate)
    silu = gate * sigmoid
    tl.store(gate_at, (d * up * (sigmoid + silu * (1.0 - sigmoid))).to(gate_up.dtype.element_ty), mask=mask)
    tl.store(gate_at + n, (d * silu).to(gate_up.dtype.element_ty), mask=mask)


@triton.jit
def cross_entropy(logits, targets, loss_weights, losses, stride, vocabulary, scale, GRADIENT: tl.constexpr, BLOCK: tl.constexpr,
                  AHEAD: tl.constexpr, LAST_USE: tl.constexpr):  # fmt: skip
    """losses (rows) = weight * (logsumexp(logits) - logits[target]); 0 where the weight is 0 or the target -1. GRADIENT: logits
    (rows, stride), of which `vocabulary` are used, become `scale` times their gradients. A program a row. Largest values are kept by
    thread, of eight elements at once: one exponential an element, not two. The gradients' pass goes backwards: of a long row the L2
    has the end. AHEAD tiles are on their way; LAST_USE: what that pass reads and writes leaves the L2 first. Masks go by the stride, a
    multiple of 16 as the vocabulary need not be: loads and stores are of 16 bytes, and what is behind the vocabulary is written, too."""
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(targets + row)
    weight = tl.load(loss_weights + row)
    learns = (target >= 0) & (weight != 0)
    source = logits + row * stride
    chosen = tl.load(source + tl.where(learns, target, 0)).to(tl.float32)
    best = tl.full((BLOCK // 8,), -1e30, tl.float32)
    total = tl.zeros((BLOCK // 8,), tl.float32)
    lane = tl.arange(0, BLOCK // 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    for start in tl.range(0, tl.where(learns, vocabulary, 0), BLOCK, num_stages=AHEAD):
        at = start + lane
        x = tl.load(source + at, mask=at < stride, other=0.0).to(tl.float32)
        x = tl.where(at < vocabulary, x * 1.4426950408889634, -float("inf"))  # exponents of 2
        new_best = tl.maximum(best, tl.max(x, 1))
        total = total * tl.exp2(best - new_best) + tl.sum(tl.exp2(x - new_best[:, None]), 1)
        best = new_best
    largest = tl.max(best, 0)
    lse = tl.where(learns, largest + tl.log2(tl.sum(total * tl.exp2(best - largest), 0)), 0.0)
    tl.store(losses + row, tl.where(learns, weight * (lse * 0.6931471805599453 - chosen), 0.0))
    if GRADIENT:
        factor = tl.where(learns, weight * scale, 0.0)
        last = (vocabulary - 1) // BLOCK * BLOCK
        for begin in tl.range(0, vocabulary, BLOCK, num_stages=AHEAD):
            at = last - begin + lane
            x = tl.load(source + at, mask=(at < stride) & learns, other=0.0, eviction_policy=LAST_USE).to(tl.float32)
            d = factor * (tl.exp2(x * 1.4426950408889634 - lse) - tl.where(at == target, 1.0, 0.0))
            tl.store(source + at, d.to(logits.dtype.element_ty), mask=at < stride, eviction_policy=LAST_USE)


@triton.jit
def embedding_backward(ids, order, d_x, gradient, parts, tokens, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PRECISION: tl.constexpr):
    """gradient (vocabulary, n) += the sums of the rows of d_x (tokens, n) of each token id. ids (tokens): sorted, order: where they were.
    Program (chunk of ROWS places among the ids, tile of columns), so that none has more to do where an id is frequent: sums of ids that
    reach beyond the chunk are left to embedding_ends, in parts (chunks, 2, n): of the id that comes from before, of the one that goes on.
    The sums of a chunk are a product with ones and zeros; a row that is not finite makes all of them so, and the optimizer skips the step."""
    chunk = tl.program_id(0)
    i = tl.arange(0, ROWS)
    place = chunk * ROWS + i
    inside = place < tokens
    token = tl.load(ids + place, mask=inside, other=-1)
    before = tl.load(ids + place - 1, mask=inside & (i > 0), other=-1)
    run = tl.cumsum(((token != before) & (i > 0)).to(tl.int32), 0)
    in_run = run[None, :] == i[:, None]
    token = tl.max(tl.where(in_run, token[None, :], -1), 1)  # of a run
    at = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    columns = (at < n)[None, :]
    row = tl.load(order + place, mask=inside, other=0)
    x = tl.load(d_x + row[:, None] * n + at[None, :], mask=inside[:, None] & columns, other=0.0)
    sums = tl.dot(in_run.to(x.dtype), x, input_precision=PRECISION)
    comes = token == tl.load(ids + chunk * ROWS - 1, mask=chunk > 0, other=-1)
    goes = token == tl.load(ids + (chunk + 1) * ROWS, mask=(chunk + 1) * ROWS < tokens, other=-1)
    reaches = comes | goes
    part = parts + (chunk.to(tl.int64) * 2 + tl.where(comes, 0, 1))[:, None] * n + at[None, :]
    tl.store(part, sums, mask=((token >= 0) & reaches)[:, None] & columns)
    mask = ((token >= 0) & (reaches == 0))[:, None] & columns
    to = gradient + token.to(tl.int64)[:, None] * n + at[None, :]
    tl.store(to, tl.load(to, mask=mask, other=0.0) + sums, mask=mask)


@triton.jit
def embedding_ends(ids, gradient, parts, tokens, n, ROWS: tl.constexpr, CHUNKS: tl.constexpr, COLUMNS: tl.constexpr):
    """What embedding_backward leaves of ids that reach beyond chunks of ROWS places: each is added up, CHUNKS chunks at once, by the
    program (chunk, tile of columns) of the chunk that it begins in."""
    chunk = tl.program_id(0)
    behind = (chunk + 1) * ROWS
    token = tl.load(ids + behind - 1, mask=behind < tokens, other=-1)
    begins = token != tl.load(ids + chunk * ROWS - 1, mask=chunk > 0, other=-1)
    if begins & (token >= 0) & (token == tl.load(ids + behind, mask=behind < tokens, other=-2)):
        at = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
        inside = at < n
        acc = tl.zeros((CHUNKS, COLUMNS), tl.float32)
        first = chunk + 1
        found = CHUNKS
        while found == CHUNKS:
            other = first + tl.arange(0, CHUNKS)
            same = tl.load(ids + other * ROWS, mask=other < tl.cdiv(tokens, ROWS), other=-1) == token
            acc += tl.load(parts + other.to(tl.int64)[:, None] * 2 * n + at[None, :], mask=same[:, None] & inside[None, :], other=0.0)
            found = tl.sum(same.to(tl.int32), 0)
            first += CHUNKS
        total = tl.load(parts + (chunk.to(tl.int64) * 2 + 1) * n + at, mask=inside, other=0.0) + tl.sum(acc, 0)
        to = gradient + token.to(tl.int64) * n + at
        tl.store(to, tl.load(to, mask=inside, other=0.0) + total, mask=inside)


@triton.jit
def sum_squares(gradient, parts, count, BLOCK: tl.constexpr):
    """parts (programs): sums of the squares of gradient (count), whose blocks programs share out."""
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, count, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        g = tl.load(gradient + at, mask=at < count, other=0.0)
        acc += g * g
    tl.store(parts + tl.program_id(0), tl.sum(acc, 0))


@triton.jit
def adamw(gradient, squared_norm, master, first, second, weights, count, decayed, decay, step, one_minus_beta1, beta2, one_minus_beta2,
          inverse_root, epsilon, clip, BLOCK: tl.constexpr):  # fmt: skip
    """AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101) over flat memory (count). The first `decayed` elements shrink by `decay`;
    step: the learning rate over the first moment's correction; inverse_root: 1 over the root of the second's. Gradients are scaled
    so that their norm is at most `clip` (0: not), and where the squared norm is not finite nothing changes."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    squared = tl.load(squared_norm)
    mask = (at < count) & (squared < float("inf"))
    g = tl.load(gradient + at, mask=mask, other=0.0)
    if clip > 0:
        g = g * tl.minimum(clip / (tl.sqrt_rn(squared) + 1e-6), 1.0)
    w = tl.load(master + at, mask=mask, other=0.0)
    m = tl.load(first + at, mask=mask, other=0.0)
    v = tl.load(second + at, mask=mask, other=0.0)
    w = tl.where(at < decayed, w * (1.0 - decay), w)
    m = m + (g - m) * one_minus_beta1
    v = v * beta2 + g * g * one_minus_beta2
    w = w - step * m / (tl.sqrt_rn(v) * inverse_root + epsilon)
    tl.store(master + at, w, mask=mask)
    tl.store(first + at, m, mask=mask)
    tl.store(second + at, v, mask=mask)
    tl.store(weights + at, w.to(weights.dtype.element_ty), mask=mask)
