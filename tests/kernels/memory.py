"""Loads and stores in every form: masks, hints, strides, block pointers, pointer tables."""
import triton
import triton.language as tl

from .cases import InOut, Out, Tensor, case


@case(x=Tensor("fp32", 64), z=Out("fp32", 320), n=40, B=64)
@triton.jit
def load_forms(x, z, n, B: tl.constexpr):
    r = tl.arange(0, B)
    m = r < n
    first = tl.load(x)
    v = first + tl.load(x + r) + tl.load(x + r, mask=m, other=1.0)
    tl.store(z + r, v + tl.load(x, mask=n > 3, other=2.0))
    v = tl.load(x + r, cache_modifier=".ca")
    v += tl.load(x + r, mask=m, other=0.0, cache_modifier=".cg", eviction_policy="evict_first")
    v += tl.load(x + r, mask=m, other=0.0, eviction_policy="evict_last", volatile=True)
    v += tl.load(x + r, cache_modifier=".cv") + tl.load(x + r, volatile=True)
    tl.store(z + B + r, v)
    tl.store(z + 2 * B + r, tl.load(x + r, mask=m), mask=m)
    tl.store(z + 3 * B + r, tl.load(x + r, mask=m, other=float("-inf")), mask=r % 2 == 0)
    tl.store(z + 4 * B + r, tl.load(x + r, mask=False, other=3.0) + tl.load(x + r, mask=True))


@case(x=Tensor("fp32", 64), z=Out("fp32", 448), p=InOut("i1", 64, (0, 2)), n=40, B=64)
@triton.jit
def store_forms(x, z, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    m = r < n
    tl.store(z + r, v, mask=m)
    tl.store(z + B + r, v, cache_modifier=".wb")
    tl.store(z + 2 * B + r, v, cache_modifier=".cs", eviction_policy="evict_first")
    tl.store(z + 3 * B + r, v, mask=m, cache_modifier=".wt")
    tl.store(z + 4 * B + r, v, cache_modifier=".cg")
    tl.store(z + 5 * B + r, v, eviction_policy="evict_last")
    tl.store(z + 6 * B, 1.0)
    tl.store(z + 6 * B + 1, 3.0, mask=n > 3)
    tl.store(z + 6 * B + 2 + r, 2.0, mask=False)
    flags = tl.load(p + r)
    tl.store(p + r, flags & m)


@case(grid=(3,), x=Tensor("fp32", (24, 40)), z=Out("fp32", (40, 24)), rows=24, columns=40, B=16)
@triton.jit
def transpose_tiles(x, z, rows, columns, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    for start in range(0, rows, B):
        s = start + tl.arange(0, B)
        inside = (s[:, None] < rows) & (r[None, :] < columns)
        tile = tl.load(x + s[:, None] * columns + r[None, :], mask=inside, other=0.0)
        tl.store(z + r[None, :] * rows + s[:, None], tile, mask=inside)


@case(x=Tensor("fp32", (24, 40)), z=Out("fp32", (24, 40)), y=Out("fp32", (16, 16)), rows=24, columns=40, B=16)
@triton.jit
def block_pointers(x, z, y, rows, columns, B: tl.constexpr):
    source = tl.make_block_ptr(x, (rows, columns), (columns, 1), (16, 0), (B, B), (1, 0))
    target = tl.make_block_ptr(z, (rows, columns), (columns, 1), (16, 0), (B, B), (1, 0))
    total = tl.zeros((B, B), tl.float32)
    for _ in range(0, columns, B):
        tile = tl.load(source, boundary_check=(0, 1), padding_option="zero")
        total += tile
        tl.store(target, tile * 2.0, boundary_check=(0, 1))
        source = tl.advance(source, (0, B))
        target = tl.advance(target, (0, B))
    corner = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 0), (B, B), (1, 0))
    padded = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 32), (B, B), (1, 0))
    late = tl.load(padded, boundary_check=(1,), padding_option="nan")
    tl.store(tl.make_block_ptr(y, (B, B), (B, 1), (0, 0), (B, B), (1, 0)), total + tl.load(corner) + tl.where(late == late, late, -1.0))


@case(x=Tensor("fp32", 32), z=InOut("fp32", 32), c=Tensor("i8", 16, (0, 16)), u=Tensor("u8", 16, [15 - i for i in range(16)]), B=16)
@triton.jit
def small_offsets(x, z, c, u, B: tl.constexpr):
    r = tl.arange(0, B)
    gathered = tl.load(x + tl.load(c + r))
    tl.store(z + tl.load(u + r), gathered + r)
    tl.store((z + B) + r.to(tl.int64), tl.load(x + B + r.to(tl.int16)))


@case(x=Tensor("fp16", 32), z=Out("fp16", 32), table=Tensor("u64", 1, "zeros"), n=0, B=32,
      no_interpreter="the table holds no addresses until launch")
@triton.jit
def pointer_table(x, z, table, n, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    if n > 0:
        source = tl.load(table).to(tl.pointer_type(tl.float16))
        v = tl.load(tl.multiple_of(source, 16) + r)
    tl.store(z + r, v * 2)


@case(t=(Tensor("fp32", 16), 3), z=Out("fp32", 16), no_interpreter="tuples of pointers")
@triton.jit
def tuple_argument(t, z):
    tl.store(z + t[1], tl.load(t[0]))


@case(grid=(2,), x=Tensor("fp32", 64), z=Out("fp32", 64), n=64, B=32)
@triton.jit
def hints(x, z, n, B: tl.constexpr):
    tl.assume(n > 0)
    n = tl.multiple_of(n, 8)
    start = tl.program_id(0) * B
    r = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, B), 8), 8)
    v = tl.load(x + r, mask=r < n, other=0.0)
    tl.debug_barrier()
    tl.store(z + r, v + tl.max_constancy(r // 4, 4), mask=r < n)
