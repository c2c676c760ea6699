"""Kernels of tile_vs_interpreter.py, as people write them, with their launches.

As a program: tile_kernels.py FOLDER writes NAME.ttir for each (needs no GPU).
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    m = r < n
    tl.store(out + r, tl.load(x + r, mask=m) + tl.load(y + r, mask=m), mask=m)


@triton.jit
def softmax(x, out, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * stride + c, mask=c < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + c, v / tl.sum(v, axis=0), mask=c < n)


@triton.jit
def layer_norm(x, w, b, out, stride, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + row * stride + c, mask=m, other=0.0)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(m, v - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    y = d * rstd * tl.load(w + c, mask=m, other=0.0) + tl.load(b + c, mask=m, other=0.0)
    tl.store(out + row * stride + c, y, mask=m)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * K + rk[None, :]
    pb = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        mask_k = rk < K - k
        va = tl.load(pa, mask=(rm[:, None] < M) & mask_k[None, :], other=0.0)
        vb = tl.load(pb, mask=mask_k[:, None] & (rn[None, :] < N), other=0.0)
        acc = tl.dot(va, vb, acc, input_precision="ieee")
        pa += BK
        pb += BK * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def attention(q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * n * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    rn = tl.arange(0, BN)
    vq = tl.load(q + head + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        vk = tl.load(k + head + (start + rn)[None, :] * D + rd[:, None])
        s = tl.dot(vq, vk, input_precision="ieee") * scale
        new_top = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new_top[:, None])
        alpha = tl.exp(top - new_top)
        total = total * alpha + tl.sum(p, 1)
        vv = tl.load(v + head + (start + rn)[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(vv.dtype), vv, acc * alpha[:, None], input_precision="ieee")
        top = new_top
    tl.store(out + head + rm[:, None] * D + rd[None, :], acc / total[:, None])


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).to(dtype)


# name → (kernel, grid, arguments in order, constexprs, expected result or None)
def cases():
    x, y = random(1 << 20), random(1 << 20) * 2
    rows = random(4096, 1024)
    w, b = random(1024), random(1024)
    a, c = random(512, 512), random(512, 512) + 1
    h = lambda t: t.to(torch.bfloat16)
    q = random(4, 512, 64)
    attended = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    empty = torch.empty_like
    tiles = dict(BM=64, BN=64, BK=32)
    return {
        "add": (add, (1024,), [x, y, empty(x), 1 << 20], dict(B=1024), x + y),
        "softmax": (softmax, (4096,), [rows, empty(rows), 1024, 1024], dict(B=1024), rows.softmax(1)),
        "layer_norm": (layer_norm, (4096,), [rows, w, b, empty(rows), 1024, 1024, 1e-5], dict(B=1024),
                       torch.nn.functional.layer_norm(rows, (1024,), w, b)),
        "matmul_fp32": (matmul, (8, 8), [a, c, empty(a), 512, 512, 512], tiles, a @ c),
        "matmul_bf16": (matmul, (8, 8), [h(a), h(c), empty(a), 512, 512, 512], tiles, h(a).float() @ h(c).float()),
        "attention": (attention, (8, 4), [q, q, q, empty(q), 512, 0.125], dict(D=64, BM=64, BN=64), attended),
    }


TYPES = {torch.float32: "*fp32", torch.bfloat16: "*bf16"}


def ttir(kernel, arguments, constants):
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend
    signature, attributes = {}, {}
    values = iter(arguments)
    for index, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        value = next(values)
        is_tensor = isinstance(value, torch.Tensor)
        signature[name] = TYPES[value.dtype] if is_tensor else "fp32" if isinstance(value, float) else "i32"
        if is_tensor or (isinstance(value, int) and value % 16 == 0):
            attributes[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(kernel, signature, constants, attributes)
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options(dict(source.parse_options()))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    stages = {}
    backend.add_stages(stages, options, source.language)
    module = stages["ttir"](module, {})
    module.context_keepalive = context
    return str(module)


if __name__ == "__main__":
    for name, (kernel, _, arguments, constants, _) in cases().items():
        with open(f"{sys.argv[1]}/{name}.ttir", "w") as file:
            file.write(ttir(kernel, arguments, constants))
