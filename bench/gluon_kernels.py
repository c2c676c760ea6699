"""The kernels of bench/gluon_products.py, for Hopper GPUs. Rows, columns and sums are whole tiles; matrices are bfloat16 and lie row by row.

    forward         gate_up (rows, 2 n) = x (rows, k) @ w (2 n, k).T and hidden (rows, n) = silu(gate) * up
    backward        gate_up becomes its gradient, from d (rows, k) and w (k, n)
    add_norm        total (rows, n) = x + a (rows, k) @ w (n, k).T, out = total / rms(total) * norm
    norm_backward   d_x (rows, n) += the gradient of x where a (rows, k) @ w (k, n) is that of x / rms(x) * norm; parts (2 tiles, n) of norm's

"a" and "b" are the factors' blocks in shared memory, "full" and "empty" their barriers. Of a barrier only the phase before is known to be over: who
waits for one that is two ahead does not wait. So each of two groups that take turns begins (`order`) when the other one has all it needs.
"""
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_init, warpgroup_mma_wait


@gluon.jit
def barriers(number: gl.constexpr, arrivals: gl.constexpr):
    made = gl.allocate_shared_memory(gl.int64, [number, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(number):
        mbarrier.init(made.index(i), count=arrivals)
    return made


@gluon.jit
def halves(t, rows: gl.constexpr, columns: gl.constexpr):
    return t.reshape((rows, 2, columns)).permute((0, 2, 1)).split()


# ---- gate_up and SwiGLU --------------------------------------------------
@gluon.jit
def forward_loads(x, w, a, b, a_full, a_empty, b_full, b_empty, rows, n, BM: gl.constexpr, HN: gl.constexpr, BK: gl.constexpr, KS: gl.constexpr,
                  STAGES: gl.constexpr):
    at = 0
    turn = 0
    pairs = b._reinterpret(b.dtype, [STAGES * 2, HN, BK], b.layout)
    for tile in range(gl.program_id(0), gl.cdiv(rows, BM), gl.num_programs(0)):
        for column in range(0, n, HN):
            for k in gl.static_range(KS):
                if column == 0:
                    mbarrier.wait(a_empty.index(k), turn ^ 1)
                    mbarrier.expect(a_full.index(k), BM * BK * 2)
                    tma.async_copy_global_to_shared(x, [tile * BM, k * BK], a_full.index(k), a.index(k))
                s = at % STAGES
                mbarrier.wait(b_empty.index(s), ((at // STAGES) & 1) ^ 1)
                mbarrier.expect(b_full.index(s), 2 * HN * BK * 2)
                tma.async_copy_global_to_shared(w, [column, k * BK], b_full.index(s), pairs.index(2 * s))
                tma.async_copy_global_to_shared(w, [n + column, k * BK], b_full.index(s), pairs.index(2 * s + 1))
                at += 1
        turn ^= 1


@gluon.jit
def forward_products(which: gl.constexpr, gate_up, hidden, a, b, staging, a_full, a_empty, b_full, b_empty, order, rows, n, BM: gl.constexpr,
                     HN: gl.constexpr, BK: gl.constexpr, KS: gl.constexpr, STAGES: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 2 * HN, 16])
    columns = n // HN
    at = which * KS
    turn = 0
    mine = which ^ 1
    for tile in range(gl.program_id(0), gl.cdiv(rows, BM), gl.num_programs(0)):
        for column in range(which, columns, 2):
            mbarrier.wait(order.index(which), mine)
            mine ^= 1
            acc = warpgroup_mma_init(gl.zeros((BM, 2 * HN), gl.float32, layout))
            for k in gl.static_range(KS):
                s = (at + k) % STAGES
                if column == which:
                    mbarrier.wait(a_full.index(k), turn)
                mbarrier.wait(b_full.index(s), ((at + k) // STAGES) & 1)
                acc = warpgroup_mma(a.index(k), b.index(s).permute((1, 0)), acc, use_acc=k > 0, is_async=True)
                if k > 0:
                    acc = warpgroup_mma_wait(1, deps=(acc, ))
                    mbarrier.arrive(b_empty.index((at + k - 1) % STAGES), count=1)
            mbarrier.arrive(order.index(1 - which), count=1)
            acc = warpgroup_mma_wait(0, deps=(acc, ))
            mbarrier.arrive(b_empty.index((at + KS - 1) % STAGES), count=1)
            if column + 2 >= columns:
                for k in gl.static_range(KS):
                    mbarrier.arrive(a_empty.index(k), count=1)
            at += 2 * KS
            gate, up = halves(acc, BM, HN)
            gate = gate.to(gl.bfloat16)
            up = up.to(gl.bfloat16)
            first = staging.index(which * 2)
            second = staging.index(which * 2 + 1)
            tma.store_wait(pendings=0)
            first.store(gate)
            second.store(up)
            fence_async_shared()
            tma.async_copy_shared_to_global(gate_up, [tile * BM, column * HN], first)
            tma.async_copy_shared_to_global(gate_up, [tile * BM, n + column * HN], second)
            wide = gate.to(gl.float32)
            h = (wide / (1.0 + gl.exp(-wide))).to(gl.bfloat16) * up
            tma.store_wait(pendings=1)
            first.store(h)
            fence_async_shared()
            tma.async_copy_shared_to_global(hidden, [tile * BM, column * HN], first)
        turn ^= 1
    tma.store_wait(pendings=0)


@gluon.jit
def forward(x, w, gate_up, hidden, rows, n, BM: gl.constexpr, HN: gl.constexpr, BK: gl.constexpr, KS: gl.constexpr, STAGES: gl.constexpr,
            num_warps: gl.constexpr):
    a = gl.allocate_shared_memory(gl.bfloat16, [KS, BM, BK], x.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [STAGES, 2 * HN, BK], w.layout)
    staging = gl.allocate_shared_memory(gl.bfloat16, [4, BM, HN], gate_up.layout)
    a_full = barriers(KS, 1)
    a_empty = barriers(KS, 2)
    b_full = barriers(STAGES, 1)
    b_empty = barriers(STAGES, 1)
    order = barriers(2, 1)
    fence_async_shared()
    gl.warp_specialize([
        (forward_products, (0, gate_up, hidden, a, b, staging, a_full, a_empty, b_full, b_empty, order, rows, n, BM, HN, BK, KS, STAGES)),
        (forward_products, (1, gate_up, hidden, a, b, staging, a_full, a_empty, b_full, b_empty, order, rows, n, BM, HN, BK, KS, STAGES)),
        (forward_loads, (x, w, a, b, a_full, a_empty, b_full, b_empty, rows, n, BM, HN, BK, KS, STAGES)),
    ], [4, 1], [232, 40])


# ---- the gradient of down's input and SwiGLU's ---------------------------
@gluon.jit
def backward_loads(d, w, gate_up, a, b, slots, a_full, a_empty, b_full, b_empty, s_full, s_empty, rows, n, BM: gl.constexpr, BN: gl.constexpr,
                   BK: gl.constexpr, KS: gl.constexpr, STAGES: gl.constexpr, SLOTS: gl.constexpr):
    at = 0
    turn = 0
    tiles = 0
    for tile in range(gl.program_id(0), gl.cdiv(rows, BM), gl.num_programs(0)):
        for column in range(0, n, BN):
            slot = tiles % SLOTS
            for k in gl.static_range(KS):
                if column == 0:
                    mbarrier.wait(a_empty.index(k), turn ^ 1)
                    mbarrier.expect(a_full.index(k), BM * BK * 2)
                    tma.async_copy_global_to_shared(d, [tile * BM, k * BK], a_full.index(k), a.index(k))
                s = at % STAGES
                mbarrier.wait(b_empty.index(s), ((at // STAGES) & 1) ^ 1)
                mbarrier.expect(b_full.index(s), BN * BK * 2)
                tma.async_copy_global_to_shared(w, [k * BK, column], b_full.index(s), b.index(s))
                at += 1
            mbarrier.wait(s_empty.index(slot), ((tiles // SLOTS) & 1) ^ 1)
            mbarrier.expect(s_full.index(slot), 2 * BM * BN * 2)
            tma.async_copy_global_to_shared(gate_up, [tile * BM, column], s_full.index(slot), slots.index(2 * slot))
            tma.async_copy_global_to_shared(gate_up, [tile * BM, n + column], s_full.index(slot), slots.index(2 * slot + 1))
            tiles += 1
        turn ^= 1


@gluon.jit
def backward_products(which: gl.constexpr, gate_up, a, b, slots, a_full, a_empty, b_full, b_empty, s_full, s_empty, order, rows, n,
                      BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, KS: gl.constexpr, STAGES: gl.constexpr, SLOTS: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, BN, 16])
    columns = n // BN
    at = which * KS
    turn = 0
    mine = which ^ 1
    tiles = which
    held = -1
    for tile in range(gl.program_id(0), gl.cdiv(rows, BM), gl.num_programs(0)):
        for column in range(which, columns, 2):
            mbarrier.wait(order.index(which), mine)
            mine ^= 1
            acc = warpgroup_mma_init(gl.zeros((BM, BN), gl.float32, layout))
            for k in gl.static_range(KS):
                s = (at + k) % STAGES
                if column == which:
                    mbarrier.wait(a_full.index(k), turn)
                mbarrier.wait(b_full.index(s), ((at + k) // STAGES) & 1)
                acc = warpgroup_mma(a.index(k), b.index(s), acc, use_acc=k > 0, is_async=True)
                if k > 0:
                    acc = warpgroup_mma_wait(1, deps=(acc, ))
                    mbarrier.arrive(b_empty.index((at + k - 1) % STAGES), count=1)
            mbarrier.arrive(order.index(1 - which), count=1)
            # the slot written last: its stores have had a product's time
            if held >= 0:
                tma.store_wait(pendings=0)
                mbarrier.arrive(s_empty.index(held), count=1)
            acc = warpgroup_mma_wait(0, deps=(acc, ))
            mbarrier.arrive(b_empty.index((at + KS - 1) % STAGES), count=1)
            if column + 2 >= columns:
                for k in gl.static_range(KS):
                    mbarrier.arrive(a_empty.index(k), count=1)
            at += 2 * KS
            slot = tiles % SLOTS
            mbarrier.wait(s_full.index(slot), (tiles // SLOTS) & 1)
            g_at = slots.index(2 * slot)
            u_at = slots.index(2 * slot + 1)
            gate = g_at.load(layout).to(gl.float32)
            up = u_at.load(layout).to(gl.float32)
            dh = acc.to(gl.bfloat16).to(gl.float32)
            sigmoid = 1.0 / (1.0 + gl.exp(-gate))
            silu = gate * sigmoid
            g_at.store((dh * up * (sigmoid + silu * (1.0 - sigmoid))).to(gl.bfloat16))
            u_at.store((dh * silu).to(gl.bfloat16))
            fence_async_shared()
            tma.async_copy_shared_to_global(gate_up, [tile * BM, column * BN], g_at)
            tma.async_copy_shared_to_global(gate_up, [tile * BM, n + column * BN], u_at)
            held = slot
            tiles += 2
        turn ^= 1
    tma.store_wait(pendings=0)


@gluon.jit
def backward(d, w, gate_up, rows, n, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, KS: gl.constexpr, STAGES: gl.constexpr,
             SLOTS: gl.constexpr, num_warps: gl.constexpr):
    a = gl.allocate_shared_memory(gl.bfloat16, [KS, BM, BK], d.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [STAGES, BK, BN], w.layout)
    slots = gl.allocate_shared_memory(gl.bfloat16, [2 * SLOTS, BM, BN], gate_up.layout)
    a_full = barriers(KS, 1)
    a_empty = barriers(KS, 2)
    b_full = barriers(STAGES, 1)
    b_empty = barriers(STAGES, 1)
    order = barriers(2, 1)
    s_full = barriers(SLOTS, 1)
    s_empty = barriers(SLOTS, 1)
    fence_async_shared()
    gl.warp_specialize([
        (backward_products, (0, gate_up, a, b, slots, a_full, a_empty, b_full, b_empty, s_full, s_empty, order, rows, n, BM, BN, BK, KS, STAGES,
            SLOTS)),
        (backward_products, (1, gate_up, a, b, slots, a_full, a_empty, b_full, b_empty, s_full, s_empty, order, rows, n, BM, BN, BK, KS, STAGES,
            SLOTS)),
        (backward_loads, (d, w, gate_up, a, b, slots, a_full, a_empty, b_full, b_empty, s_full, s_empty, rows, n, BM, BN, BK, KS, STAGES, SLOTS)),
    ], [4, 1], [232, 40])


# ---- whole rows: a product, the residual stream and a norm ----------------
@gluon.jit
def ring(a_desc, w_desc, PARTS: gl.constexpr, STAGES: gl.constexpr):
    a = gl.allocate_shared_memory(gl.bfloat16, [STAGES * 2, a_desc.block_shape[0], a_desc.block_shape[1]], a_desc.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [STAGES * PARTS, w_desc.block_shape[0], w_desc.block_shape[1]], w_desc.layout)
    full = barriers(STAGES, 1)
    empty = barriers(STAGES, 2)
    fence_async_shared()
    return a, b, full, empty


@gluon.jit
def rows_loads(a_desc, w_desc, a, b, full, empty, rows, k_size, TRANSPOSED: gl.constexpr, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr,
               PARTS: gl.constexpr, STAGES: gl.constexpr):
    at = 0
    for tile in range(gl.program_id(0), gl.cdiv(rows, BM), gl.num_programs(0)):
        for k in range(0, k_size, BK):
            s = at % STAGES
            mbarrier.wait(empty.index(s), ((at // STAGES) & 1) ^ 1)
            mbarrier.expect(full.index(s), (BM + PARTS * BN) * BK * 2)
            for half in gl.static_range(2):
                tma.async_copy_global_to_shared(a_desc, [tile * BM + half * (BM // 2), k], full.index(s), a.index(2 * s + half))
            for i in gl.static_range(PARTS):
                if TRANSPOSED:
                    tma.async_copy_global_to_shared(w_desc, [i * BN, k], full.index(s), b.index(PARTS * s + i))
                else:
                    tma.async_copy_global_to_shared(w_desc, [k, i * BN], full.index(s), b.index(PARTS * s + i))
            at += 1


@gluon.jit
def rows_product(which: gl.constexpr, at, a, b, full, empty, k_size, wide: gl.constexpr, TRANSPOSED: gl.constexpr, BM: gl.constexpr,
                 BN: gl.constexpr, BK: gl.constexpr, PARTS: gl.constexpr, STAGES: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, BN, 16])
    zero = gl.zeros((BM // 2, BN), gl.float32, layout)
    x0 = zero
    x1 = zero
    x2 = zero
    for k in range(0, k_size, BK):
        s = at % STAGES
        mbarrier.wait(full.index(s), (at // STAGES) & 1)
        left = a.index(2 * s + which)
        if TRANSPOSED:
            x0 = warpgroup_mma(left, b.index(PARTS * s).permute((1, 0)), x0, is_async=True)
            x1 = warpgroup_mma(left, b.index(PARTS * s + 1).permute((1, 0)), x1, is_async=True)
            x2 = warpgroup_mma(left, b.index(PARTS * s + 2).permute((1, 0)), x2, is_async=True)
        else:
            x0 = warpgroup_mma(left, b.index(PARTS * s), x0, is_async=True)
            x1 = warpgroup_mma(left, b.index(PARTS * s + 1), x1, is_async=True)
            x2 = warpgroup_mma(left, b.index(PARTS * s + 2), x2, is_async=True)
        x0, x1, x2 = warpgroup_mma_wait(PARTS, deps=(x0, x1, x2))
        if k > 0:
            mbarrier.arrive(empty.index((at + STAGES - 1) % STAGES), count=1)
        at += 1
    x0, x1, x2 = warpgroup_mma_wait(0, deps=(x0, x1, x2))
    mbarrier.arrive(empty.index((at + STAGES - 1) % STAGES), count=1)
    return at, (gl.convert_layout(x0.to(gl.bfloat16), wide), gl.convert_layout(x1.to(gl.bfloat16), wide), gl.convert_layout(x2.to(gl.bfloat16), wide))


@gluon.jit
def add_norm_rows(which: gl.constexpr, x, norm, total, out, a, b, full, empty, rows, k_size, eps, BM: gl.constexpr, BN: gl.constexpr,
                  BK: gl.constexpr, PARTS: gl.constexpr, STAGES: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([1, 8], [2, 16], [4, 1], [1, 0])
    n: gl.constexpr = PARTS * BN
    at = 0
    row = gl.arange(0, BM // 2, gl.SliceLayout(1, wide))
    column = gl.arange(0, BN, gl.SliceLayout(0, wide))
    place = row[:, None] * n + column[None, :]
    for tile in range(gl.program_id(0), gl.cdiv(rows, BM), gl.num_programs(0)):
        at, sums = rows_product(which, at, a, b, full, empty, k_size, wide, True, BM, BN, BK, PARTS, STAGES)
        first = (tile * BM + which * (BM // 2)).to(gl.int64) * n
        squares = gl.zeros((BM // 2, ), gl.float32, gl.SliceLayout(1, wide))
        totals = ()
        for i in gl.static_range(PARTS):
            v = (gl.load(x + first + place + i * BN).to(gl.float32) + sums[i].to(gl.float32)).to(gl.bfloat16)
            gl.store(total + first + place + i * BN, v)
            f = v.to(gl.float32)
            squares += gl.sum(f * f, 1)
            totals = totals + (v, )
        scale = gl.rsqrt(squares / n + eps)[:, None]
        for i in gl.static_range(PARTS):
            w = gl.load(norm + i * BN + column)[None, :]
            gl.store(out + first + place + i * BN, (totals[i].to(gl.float32) * scale).to(gl.bfloat16) * w)


@gluon.jit
def add_norm(a_desc, w_desc, x, norm, total, out, rows, k_size, eps, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, PARTS: gl.constexpr,
             STAGES: gl.constexpr, num_warps: gl.constexpr):
    a, b, full, empty = ring(a_desc, w_desc, PARTS, STAGES)
    gl.warp_specialize([
        (add_norm_rows, (0, x, norm, total, out, a, b, full, empty, rows, k_size, eps, BM, BN, BK, PARTS, STAGES)),
        (add_norm_rows, (1, x, norm, total, out, a, b, full, empty, rows, k_size, eps, BM, BN, BK, PARTS, STAGES)),
        (rows_loads, (a_desc, w_desc, a, b, full, empty, rows, k_size, True, BM, BN, BK, PARTS, STAGES)),
    ], [4, 1], [240, 24])


@gluon.jit
def norm_backward_rows(which: gl.constexpr, x, norm, d_x, parts, a, b, full, empty, rows, k_size, eps, BM: gl.constexpr, BN: gl.constexpr,
                       BK: gl.constexpr, PARTS: gl.constexpr, STAGES: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([1, 8], [2, 16], [4, 1], [1, 0])
    n: gl.constexpr = PARTS * BN
    at = 0
    row = gl.arange(0, BM // 2, gl.SliceLayout(1, wide))
    column = gl.arange(0, BN, gl.SliceLayout(0, wide))
    place = row[:, None] * n + column[None, :]
    for tile in range(gl.program_id(0), gl.cdiv(rows, BM), gl.num_programs(0)):
        at, sums = rows_product(which, at, a, b, full, empty, k_size, wide, False, BM, BN, BK, PARTS, STAGES)
        first = (tile * BM + which * (BM // 2)).to(gl.int64) * n
        square = gl.zeros((BM // 2, ), gl.float32, gl.SliceLayout(1, wide))
        along = gl.zeros((BM // 2, ), gl.float32, gl.SliceLayout(1, wide))
        for i in gl.static_range(PARTS):
            v = gl.load(x + first + place + i * BN).to(gl.float32)
            square += gl.sum(v * v, 1)
            along += gl.sum(sums[i].to(gl.float32) * gl.load(norm + i * BN + column).to(gl.float32)[None, :] * v, 1)
        scale = gl.rsqrt(square / n + eps)
        along = (along * scale / n)[:, None]
        scale = scale[:, None]
        for i in gl.static_range(PARTS):
            v = gl.load(x + first + place + i * BN).to(gl.float32) * scale
            d = sums[i].to(gl.float32)
            gl.store(parts + (tile * 2 + which).to(gl.int64) * n + i * BN + column, gl.sum(d * v, 0))
            passed = gl.load(d_x + first + place + i * BN).to(gl.float32)
            w = gl.load(norm + i * BN + column).to(gl.float32)[None, :]
            gl.store(d_x + first + place + i * BN, (passed + scale * (d * w - v * along)).to(gl.bfloat16))


@gluon.jit
def norm_backward(a_desc, w_desc, x, norm, d_x, parts, rows, k_size, eps, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, PARTS: gl.constexpr,
                  STAGES: gl.constexpr, num_warps: gl.constexpr):
    a, b, full, empty = ring(a_desc, w_desc, PARTS, STAGES)
    gl.warp_specialize([
        (norm_backward_rows, (0, x, norm, d_x, parts, a, b, full, empty, rows, k_size, eps, BM, BN, BK, PARTS, STAGES)),
        (norm_backward_rows, (1, x, norm, d_x, parts, a, b, full, empty, rows, k_size, eps, BM, BN, BK, PARTS, STAGES)),
        (rows_loads, (a_desc, w_desc, a, b, full, empty, rows, k_size, False, BM, BN, BK, PARTS, STAGES)),
    ], [4, 1], [240, 24])
