"""Matrix products of a decoder step with what stands before and behind them.

out = epilogue(prologue(x) @ weight.T): weight is (n, k) as in checkpoints, sums in float32.
"""
import triton
import triton.language as tl


@triton.jit
def linear(x, weight, bias, norm, residual, out, partial, arrived, m, n, k, eps, NORM: tl.constexpr, EPILOGUE: tl.constexpr,
           HAS_BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """NORM: RMSNorm of x with weight `norm` (its scale is applied to the sums). EPILOGUE: "plain"; "add": residual + out, written to
    `out`, which may be the residual; "swiglu": weight is gate over up, (2n, k), out (m, n) = silu(gate) * up.
    SPLIT > 1: so many programs share a tile; the one that comes last adds their partial sums in order.
    """
    tile_n = tl.program_id(0)
    tile_m = tl.program_id(1)
    split = tl.program_id(2)
    rm = tile_m * BM + tl.arange(0, BM)
    rn = tile_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    here = (rm < m)[:, None]
    steps = tl.cdiv(k, BK)
    first = split * steps // SPLIT
    last = (split + 1) * steps // SPLIT
    a_at = x + rm[:, None].to(tl.int64) * k + (first * BK + rk)[None, :]
    w_at = weight + rn[:, None].to(tl.int64) * k + (first * BK + rk)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    up = tl.zeros((BM, BN), tl.float32)
    squares = tl.zeros((BM, BK), tl.float32)
    if PDL:
        tl.extra.cuda.gdc_wait()
    for step in range(first, last):
        a = tl.load(a_at, mask=here, other=0.0)
        w = tl.load(w_at, mask=(rn < n)[:, None], other=0.0)
        if NORM:
            wide = a.to(tl.float32)
            squares += wide * wide
            a = (wide * tl.load(norm + step * BK + rk).to(tl.float32)[None, :]).to(a.dtype)
        acc = tl.dot(a, tl.trans(w), acc)
        if EPILOGUE == "swiglu":
            up = tl.dot(a, tl.trans(tl.load(w_at + n.to(tl.int64) * k, mask=(rn < n)[:, None], other=0.0)), up)
        a_at += BK
        w_at += BK
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    if NORM:
        scale = tl.rsqrt(tl.sum(squares, 1) / k + eps)[:, None]
        acc = acc * scale
        up = up * scale
    mask = here & (rn < n)[None, :]
    if SPLIT > 1:
        tile = tile_m * tl.num_programs(0) + tile_n
        inside = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
        mine = partial + (tile * SPLIT + split) * (BM * BN)
        tl.store(mine + inside, acc)
        tl.debug_barrier()
        before = tl.atomic_add(arrived + tile, 1, sem="acq_rel")
        if before == SPLIT - 1:
            acc = tl.zeros((BM, BN), tl.float32)
            for s in tl.static_range(SPLIT):
                acc += tl.load(partial + (tile * SPLIT + s) * (BM * BN) + inside)
            tl.store(arrived + tile, 0)
            at = rm[:, None].to(tl.int64) * n + rn[None, :]
            if HAS_BIAS:
                acc += tl.load(bias + rn, mask=rn < n, other=0.0).to(tl.float32)[None, :]
            if EPILOGUE == "add":
                acc += tl.load(residual + at, mask=mask, other=0.0).to(tl.float32)
            tl.store(out + at, acc.to(out.dtype.element_ty), mask=mask)
    else:
        at = rm[:, None].to(tl.int64) * n + rn[None, :]
        if HAS_BIAS:
            acc += tl.load(bias + rn, mask=rn < n, other=0.0).to(tl.float32)[None, :]
        if EPILOGUE == "add":
            acc += tl.load(residual + at, mask=mask, other=0.0).to(tl.float32)
        if EPILOGUE == "swiglu":
            acc = acc * tl.sigmoid(acc) * up
        tl.store(out + at, acc.to(out.dtype.element_ty), mask=mask)
