"""Matrix products of a decode step with what stands before and behind them: out = epilogue(x @ weight.T), weight (n, k) as in
checkpoints, sums in float32.

RMSNorm is shared out between two products: the one that writes the residual stream also writes it times the norm's weight (`scaled`)
and the sums of squares of its columns (`squares`); the next one takes `scaled` as its x and multiplies its rows by 1 / rms.
"""
import triton
import triton.language as tl


@triton.jit
def inverse_rms(squares, rows, m, parts, k, eps, BM: tl.constexpr, PARTS: tl.constexpr):
    """squares (parts, m): sums of squares of parts of the rows, which have k elements."""
    part = tl.arange(0, PARTS)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, parts, PARTS):
        mask = (rows < m)[:, None] & (start + part < parts)[None, :]
        total += tl.sum(tl.load(squares + (start + part)[None, :] * m + rows[:, None], mask=mask, other=0.0), 1)
    return tl.rsqrt(total / k + eps)


@triton.jit
def finish(acc, bias, norm, residual, out, scaled, squares, rows, columns, m, n, EPILOGUE: tl.constexpr, BIAS: tl.constexpr):
    at = rows.to(tl.int64)[:, None] * n + columns[None, :]
    inside = (columns < n)[None, :]
    mask = (rows < m)[:, None] & inside
    if BIAS:
        acc += tl.load(bias + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
    if EPILOGUE == "add":
        x = (acc + tl.load(residual + at, mask=mask, other=0.0).to(tl.float32)).to(out.dtype.element_ty)
        tl.store(out + at, x, mask=mask)
        wide = x.to(tl.float32)
        weight = tl.load(norm + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
        tl.store(scaled + at, (wide * weight).to(scaled.dtype.element_ty), mask=mask)
        tl.store(squares + tl.program_id(0) * m + rows, tl.sum(tl.where(inside, wide * wide, 0.0), 1), mask=rows < m)
    else:
        tl.store(out + at, acc.to(out.dtype.element_ty), mask=mask)


@triton.jit
def linear(x, weight, bias, norm, residual, out, scaled, squares, m, n, k, parts, eps, SCALE: tl.constexpr,
           EPILOGUE: tl.constexpr, BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           EVEN: tl.constexpr, PRECISION: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """Program (tile of n, tile of m). SCALE: rows are multiplied by 1 / rms from `squares` (parts, m), which is read.
    EPILOGUE "none", "add": out = residual + sums, and `scaled` and `squares` (tiles of n, m) are written; "swiglu": weight is gate
    over up, (2n, k), out = silu(gate) * up. EVEN: k is a multiple of BK. PDL: programs may start while the kernel before
    them ends (programmatic dependent launch).
    """
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    x_at = x + (rows % m)[:, None].to(tl.int64) * k + inner[None, :]
    w_at = weight + (columns % n)[:, None].to(tl.int64) * k + inner[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    if PDL:
        tl.extra.cuda.gdc_wait()
    for step in range(0, tl.cdiv(k, BK)):
        if EVEN:
            a = tl.load(x_at)
            w = tl.load(w_at)
        else:
            mask = (step * BK + inner < k)[None, :]
            a = tl.load(x_at, mask=mask, other=0.0)
            w = tl.load(w_at, mask=mask, other=0.0)
        acc = tl.dot(a, tl.trans(w), acc, input_precision=PRECISION)
        if EPILOGUE == "swiglu":
            up = tl.dot(a, tl.trans(tl.load(w_at + n.to(tl.int64) * k)), up, input_precision=PRECISION)
        x_at += BK
        w_at += BK
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    if SCALE:
        scale = inverse_rms(squares, rows, m, parts, k, eps, BM, 16)[:, None]
        acc = acc * scale
        up = up * scale
    if EPILOGUE == "swiglu":
        acc = acc * tl.sigmoid(acc) * up
    finish(acc, bias, norm, residual, out, scaled, squares, rows, columns, m, n, EPILOGUE, BIAS)
