"""Whole programs of the kind people write."""
import triton
import triton.language as tl

from .cases import Out, Tensor, case


@case(grid=(8,), x=Tensor("fp32", (8, 200)), z=Out("fp32", (8, 200)), columns=200, B=256)
@triton.jit
def softmax_rows(x, z, columns, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    inside = c < columns
    v = tl.load(x + row * columns + c, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(z + row * columns + c, e / tl.sum(e, 0), mask=inside)


@case(x=Tensor("fp32", 64), z=Out("fp32", 64), B=64)
@triton.jit
def softmax_builtin(x, z, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(z + r, tl.softmax(tl.load(x + r)))


@case(grid=(8,), x=Tensor("fp32", (8, 200)), w=Tensor("fp32", 200), b=Tensor("fp32", 200), z=Out("fp32", (8, 200)), mean=Out("fp32", 8),
      rstd=Out("fp32", 8), columns=200, eps=1e-5, B=64)
@triton.jit
def layer_norm(x, w, b, z, mean, rstd, columns, eps, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, columns, B):
        c = start + tl.arange(0, B)
        total += tl.load(x + row * columns + c, mask=c < columns, other=0.0)
    mu = tl.sum(total, 0) / columns
    squares = tl.zeros((B,), tl.float32)
    for start in range(0, columns, B):
        c = start + tl.arange(0, B)
        v = tl.load(x + row * columns + c, mask=c < columns, other=0.0)
        squares += tl.where(c < columns, (v - mu) * (v - mu), 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, scale)
    for start in range(0, columns, B):
        c = start + tl.arange(0, B)
        inside = c < columns
        v = tl.load(x + row * columns + c, mask=inside, other=0.0)
        gain = tl.load(w + c, mask=inside)
        shift = tl.load(b + c, mask=inside)
        tl.store(z + row * columns + c, (v - mu) * scale * gain + shift, mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, PRECISION: tl.constexpr, BM: tl.constexpr,
           BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    blocks_m = tl.cdiv(M, BM)
    blocks_n = tl.cdiv(N, BN)
    in_group = GROUP * blocks_n
    first_m = (pid // in_group) * GROUP
    group_m = min(blocks_m - first_m, GROUP)
    pid_m = first_m + (pid % in_group) % group_m
    pid_n = (pid % in_group) // group_m
    rm = (pid_m * BM + tl.arange(0, BM)) % M
    rn = (pid_n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a_tile = a + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_tile = b + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        x = tl.load(a_tile, mask=rk[None, :] < left, other=0.0)
        y = tl.load(b_tile, mask=rk[:, None] < left, other=0.0)
        total = tl.dot(x, y, total, input_precision=PRECISION)
        a_tile += BK * stride_ak
        b_tile += BK * stride_bk
    cm = pid_m * BM + tl.arange(0, BM)
    cn = pid_n * BN + tl.arange(0, BN)
    inside = (cm[:, None] < M) & (cn[None, :] < N)
    tl.store(c + cm[:, None] * stride_cm + cn[None, :] * stride_cn, total.to(c.dtype.element_ty), mask=inside)


for _dtype, _precision, _why in (("fp32", "ieee", ""), ("fp16", "ieee", ""), ("bf16", "ieee", "multiplies bit patterns of bf16"),
                                 ("fp32", "tf32x3", "input_precision is ignored there")):
    case(name=f"matmul_{_dtype}_{_precision}", grid=(6,), a=Tensor(_dtype, (70, 90)), b=Tensor(_dtype, (90, 50)), c=Out(_dtype, (70, 50)), M=70,
         N=50, K=90, stride_am=90, stride_ak=1, stride_bk=50, stride_bn=1, stride_cm=50, stride_cn=1, PRECISION=_precision, BM=32, BN=32, BK=32,
         GROUP=2, no_interpreter=_why, tolerance=1e-4 if _dtype == "fp32" else 2e-2)(matmul)


@triton.jit
def attention_forward(q, k, v, o, scale, length, CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1) * length * D
    rows = block * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    inside = rows[:, None] < length
    query = tl.load(q + head + rows[:, None] * D + d[None, :], mask=inside, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    end = min((block + 1) * BM, length) if CAUSAL else length
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        present = columns[:, None] < length
        key = tl.load(k + head + columns[:, None] * D + d[None, :], mask=present, other=0.0)
        value = tl.load(v + head + columns[:, None] * D + d[None, :], mask=present, other=0.0)
        scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
        visible = columns[None, :] < length
        if CAUSAL:
            visible = visible & (rows[:, None] >= columns[None, :])
        scores = tl.where(visible, scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        total = total * shrink + tl.sum(p, 1)
        out = tl.dot(p.to(value.dtype), value, out * shrink[:, None], input_precision="ieee")
        top = new_top
    tl.store(o + head + rows[:, None] * D + d[None, :], (out / total[:, None]).to(o.dtype.element_ty), mask=inside)


for _dtype, _causal in (("fp32", False), ("fp16", True)):
    case(name=f"attention_{_dtype}_{'causal' if _causal else 'full'}", grid=(3, 2), q=Tensor(_dtype, (2, 70, 32)), k=Tensor(_dtype, (2, 70, 32)),
         v=Tensor(_dtype, (2, 70, 32)), o=Out(_dtype, (2, 70, 32)), scale=0.17677669, length=70, CAUSAL=_causal, D=32, BM=32, BN=32,
         tolerance=1e-4 if _dtype == "fp32" else 1e-2)(attention_forward)


@case(grid=(6,), x=Tensor("fp32", (6, 100)), target=Tensor("i64", 6, (0, 100)), loss=Out("fp32", 6), columns=100, B=128)
@triton.jit
def cross_entropy(x, target, loss, columns, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * columns + c, mask=c < columns, other=-float("inf"))
    top = tl.max(v, 0)
    log_sum = tl.log(tl.sum(tl.exp(v - top), 0)) + top
    chosen = tl.load(x + row * columns + tl.load(target + row))
    tl.store(loss + row, log_sum - chosen)


@case(grid=(4,), x=Tensor("bf16", (4, 96)), w=Tensor("bf16", 96), z=Out("bf16", (4, 96)), columns=96, eps=1e-6, B=128,
      no_interpreter="rounds to bf16 by truncation")
@triton.jit
def rms_norm(x, w, z, columns, eps, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    inside = c < columns
    v = tl.load(x + row * columns + c, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / columns + eps)
    gain = tl.load(w + c, mask=inside, other=0.0).to(tl.float32)
    tl.store(z + row * columns + c, (v * scale * gain).to(z.dtype.element_ty), mask=inside)
