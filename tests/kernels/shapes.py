"""Tensors rearranged: views, transpositions, joins, gathers, histograms."""
import triton
import triton.language as tl

from .cases import Out, Tensor, case


@case(x=Tensor("fp32", (8, 16)), z=Out("fp32", 512), M=8, N=16)
@triton.jit
def transpose_reshape(x, z, M: tl.constexpr, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    t = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(z + t, a.T)
    tl.store(z + M * N + t, tl.reshape(a, (N, M)))
    tl.store(z + 2 * M * N + tl.arange(0, M * N), tl.ravel(a))
    cube = tl.permute(tl.reshape(a, (2, 4, 16)), (2, 0, 1))
    tl.store(z + 3 * M * N + tl.arange(0, M * N), tl.reshape(cube, (M * N,)))


@case(x=Tensor("fp32", 16), y=Tensor("fp32", 16), z=Out("fp32", 96), B=16)
@triton.jit
def join_split(x, y, z, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    b = tl.load(y + r)
    tl.store(z + tl.arange(0, 2 * B), tl.interleave(a, b))
    low, high = tl.split(tl.reshape(tl.join(a, b), (B, 2)))
    tl.store(z + 2 * B + r, low - high)
    even, odd = tl.split(tl.reshape(a, (B // 2, 2)))
    tl.store(z + 3 * B + tl.arange(0, B // 2), even + odd)
    tl.store(z + 4 * B + tl.arange(0, 2 * B), tl.ravel(tl.permute(tl.join(a, b), (1, 0))))


@case(x=Tensor("fp32", 16), z=Out("fp32", 1), B=16)
@triton.jit
def cat_any_order(x, z, B: tl.constexpr):
    a = tl.load(x + tl.arange(0, B))
    tl.store(z, tl.max(tl.cat(a, a + 1.0, can_reorder=True), 0))


@case(x=Tensor("fp32", 8), z=Out("fp32", 1600), B=8)
@triton.jit
def broadcasts(x, z, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r)
    g = r[:, None] * B + r[None, :]
    tl.store(z + g, v[:, None] * v[None, :])
    tl.store(z + B * B + g, tl.broadcast_to(v[None, :], (B, B)))
    tl.store(z + 2 * B * B + g, tl.full((B, B), 1.0, tl.float32) * tl.load(x))
    cube = r[:, None, None] * B * B + r[None, :, None] * B + r[None, None, :]
    tl.store(z + 3 * B * B + cube, v[:, None, None] + v[None, :, None] * v[None, None, :])
    tl.store(z + 3 * B * B + B * B * B + cube, tl.expand_dims(v[:, None] + v[None, :], 2) + tl.zeros((B, B, B), tl.float32))
    tl.store(z + 3 * B * B + 2 * B * B * B + g, v[:, None] + tl.zeros((B, B), tl.float32))
    tl.store(z + 4 * B * B + 2 * B * B * B + g, v[None, :] - v[:, None])


@case(x=Tensor("fp32", 16), z=Out("fp32", 17), B=16)
@triton.jit
def flip_unsplat(x, z, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(z + r, tl.flip(tl.load(x + r), 0))
    tl.store(z + B, tl.load(x + tl.arange(0, 1)).item())


@case(x=Tensor("fp32", (16, 16)), i=Tensor("i32", (16, 16), (0, 16)), z=Out("fp32", 528), B=16)
@triton.jit
def gathers(x, i, z, B: tl.constexpr):
    r = tl.arange(0, B)
    g = r[:, None] * B + r[None, :]
    tl.store(z + r, tl.gather(tl.load(x + r), tl.load(i + r), 0))
    tl.store(z + B + g, tl.gather(tl.load(x + g), tl.load(i + g), 1))
    tl.store(z + B + B * B + g, tl.gather(tl.load(x + g), tl.load(i + g), 0))


@case(i=Tensor("i32", 64, (0, 8)), h=Out("i32", 16), n=50, B=64)
@triton.jit
def histograms(i, h, n, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(i + r)
    tl.store(h + tl.arange(0, 8), tl.histogram(v, 8))
    tl.store(h + 8 + tl.arange(0, 8), tl.histogram(v, 8, mask=r < n))
