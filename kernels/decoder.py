"""Row-wise pieces of a decoder layer."""
import triton
import triton.language as tl


@triton.jit
def embed(table, tokens, last, slots, norm, out, scaled, squares, n, SCALED: tl.constexpr, BLOCK: tl.constexpr):
    """out (rows, n) = table[token]; token -1 means the one that the row's slot sampled last. SCALED: `scaled` and `squares` (rows) as
    the products of kernels/linear.py want them."""
    row = tl.program_id(0).to(tl.int64)
    token = tl.load(tokens + row)
    if token < 0:
        token = tl.load(last + tl.load(slots + row))
    at = tl.arange(0, BLOCK)
    x = tl.load(table + token.to(tl.int64) * n + at, mask=at < n, other=0.0)
    tl.store(out + row * n + at, x, mask=at < n)
    if SCALED:
        wide = x.to(tl.float32)
        weight = tl.load(norm + at, mask=at < n, other=0.0).to(tl.float32)
        tl.store(scaled + row * n + at, (wide * weight).to(scaled.dtype.element_ty), mask=at < n)
        tl.store(squares + row, tl.sum(wide * wide, 0))


@triton.jit
def rms_norm(x, delta, weight, out, n, eps, ADD: tl.constexpr, BLOCK: tl.constexpr):
    """ADD: x += delta. Then out = x / rms(x) * weight (Zhang and Sennrich 2019, arXiv 1910.07467); all (rows, n), a program a row."""
    at = tl.arange(0, BLOCK)
    mask = at < n
    place = tl.program_id(0).to(tl.int64) * n + at
    v = tl.load(x + place, mask=mask, other=0.0)
    w = tl.load(weight + at, mask=mask, other=0.0)
    if ADD:
        v = (v.to(tl.float32) + tl.load(delta + place, mask=mask, other=0.0).to(tl.float32)).to(v.dtype)
        tl.store(x + place, v, mask=mask)
    wide = v.to(tl.float32)
    scale = tl.rsqrt(tl.sum(wide * wide, 0) / n + eps)
    tl.store(out + place, (wide * scale).to(v.dtype) * w, mask=mask)


@triton.jit
def embed_any(table, tokens, last, slots, norm, out, scaled, squares, n, BLOCK: tl.constexpr):
    """embed for rows of any length, piece by piece; without SCALED, whose arguments are not read."""
    row = tl.program_id(0).to(tl.int64)
    token = tl.load(tokens + row)
    if token < 0:
        token = tl.load(last + tl.load(slots + row))
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(table + token.to(tl.int64) * n + at, mask=at < n, other=0.0)
        tl.store(out + row * n + at, x, mask=at < n)


@triton.jit
def rms_norm_any(x, delta, weight, out, n, eps, ADD: tl.constexpr, BLOCK: tl.constexpr):
    """rms_norm for rows of any length, which are read twice, piece by piece."""
    row = tl.program_id(0).to(tl.int64) * n
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + at, mask=at < n, other=0.0)
        if ADD:
            v = (v.to(tl.float32) + tl.load(delta + row + at, mask=at < n, other=0.0).to(tl.float32)).to(v.dtype)
            tl.store(x + row + at, v, mask=at < n)
        wide = v.to(tl.float32)
        squares += wide * wide
    scale = tl.rsqrt(tl.sum(squares, 0) / n + eps)
    tl.debug_barrier()  # what one thread has written to x another one may read
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + at, mask=at < n, other=0.0)
        w = tl.load(weight + at, mask=at < n, other=0.0)
        tl.store(out + row + at, (v.to(tl.float32) * scale).to(v.dtype) * w, mask=at < n)


@triton.jit
def swiglu(gate_up, out, n, BLOCK: tl.constexpr):
    """out (rows, n) = silu(gate) * up (Shazeer 2020, arXiv 2002.05202); gate_up (rows, 2 n); program (row, block)."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    gate = tl.load(gate_up + row * 2 * n + at, mask=mask, other=0.0)
    up = tl.load(gate_up + row * 2 * n + n + at, mask=mask, other=0.0)
    wide = gate.to(tl.float32)
    tl.store(out + row * n + at, (wide * tl.sigmoid(wide)).to(gate.dtype) * up, mask=mask)
