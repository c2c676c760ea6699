"""Programs of the size and style that people and models write, each recorded whole and packed as it goes on the wire."""

from __future__ import annotations

import msgpack
import pytest

from programs import candidate, ops, plan_of, tensor

SOFTMAX = """
from triton.runtime import driver
DEVICE = triton.runtime.driver.active.get_active_torch_device()
properties = driver.active.utils.get_device_properties(DEVICE.index)
NUM_SM, NUM_REGS = properties["multiprocessor_count"], properties["max_num_regs"]
SIZE_SMEM, WARP_SIZE = properties["max_shared_mem"], properties["warpSize"]

def is_hip():
    return triton.runtime.driver.active.get_current_target().backend == "hip"

@triton.jit
def softmax_kernel(out, inp, in_stride, out_stride, n_rows, n_cols, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    start, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(start, n_rows, step, num_stages=num_stages):
        cols = tl.arange(0, BLOCK)
        x = tl.load(inp + row * in_stride + cols, mask=cols < n_cols, other=-float("inf"))
        x = tl.exp(x - tl.max(x, axis=0))
        tl.store(out + row * out_stride + cols, x / tl.sum(x, axis=0), mask=cols < n_cols)

def softmax(x):
    n_rows, n_cols = x.shape
    BLOCK = triton.next_power_of_2(n_cols)
    num_stages = 4 if SIZE_SMEM > 200000 else 2
    y = torch.empty_like(x)
    args = (y, x, x.stride(0), y.stride(0), n_rows, n_cols)
    kernel = softmax_kernel.warmup(*args, BLOCK=BLOCK, num_stages=num_stages, num_warps=8, grid=(1,))
    kernel._init_handles()
    occupancy = min(NUM_REGS // (kernel.n_regs * WARP_SIZE * 8), SIZE_SMEM // kernel.metadata.shared)
    assert not is_hip()
    softmax_kernel[(min(NUM_SM * occupancy, n_rows), 1, 1)](*args, BLOCK, num_stages, num_warps=8)
    return y

class Model(nn.Module):
    def forward(self, x):
        return softmax(x)
"""

MATMUL = """
def configs():
    return [
        triton.Config({"BM": m, "BN": n, "BK": 32, "GROUP": 8}, num_stages=s, num_warps=w)
        for m, n in [(64, 64), (128, 64)] for s, w in [(3, 4), (4, 8)]
    ]

@triton.autotune(configs=configs(), key=["M", "N", "K"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr):
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    width = GROUP * cols
    first = pid // width * GROUP
    size = min(rows - first, GROUP)
    pm, pn = first + pid % width % size, pid % width // size
    rm, rn, rk = (pm * BM + tl.arange(0, BM)) % M, (pn * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    a, b = a_ptr + rm[:, None] * sam + rk[None, :] * sak, b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(b, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc, input_precision="ieee")
        a += BK * sak
        b += BK * sbk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c_ptr + scm * rm[:, None] + scn * rn[None, :], acc.to(c_ptr.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))

@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(96, 64))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, x):
        assert x.is_contiguous(), "Matrix A must be contiguous"
        (M, K), N = x.shape, self.weight.shape[0]
        b, c = self.weight.t(), torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = lambda META: (triton.cdiv(M, META["BM"]) * triton.cdiv(N, META["BN"]),)
        matmul_kernel[grid](x, b, c, M, N, K, x.stride(0), x.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), ACTIVATION="leaky_relu")
        return c
"""

ATTENTION = """
from triton.tools.tensor_descriptor import TensorDescriptor

def set_blocks(nargs):
    for name in ("q", "o"):
        nargs[name].block_shape = [nargs["BM"], nargs["D"]]
    for name in ("k", "v"):
        nargs[name].block_shape = [nargs["BN"], nargs["D"]]

@triton.autotune([triton.Config({"BM": bm, "BN": 32}, pre_hook=set_blocks) for bm in (64, 128)], key=["L", "D"])
@triton.jit
def attention(scale, q, k, v, o, L, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    start, head = tl.program_id(0), tl.program_id(1)
    m, l = tl.full([BM], float("-inf"), tl.float32), tl.full([BM], 1.0, tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    x = q.load([head * L + start * BM, 0])
    for n in tl.range(0, L, BN):
        s = tl.dot(x, k.load([head * L + n, 0]).T) * scale * 1.44269504
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v.load([head * L + n, 0]), acc * alpha[:, None])
        m = new
    o.store([head * L + start * BM, 0], (acc / l[:, None]).to(tl.float16))

class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, scale):
        B, H, L, D = q.shape
        o = torch.empty_like(q)
        dummy = [1, 1]
        descriptors = [TensorDescriptor(t, [B * H * L, D], [D, 1], dummy) for t in (q, k, v, o)]
        attention[lambda m: (triton.cdiv(L, m["BM"]), B * H, 1)](scale, *descriptors, L, D)
        ctx.save_for_backward(q, k, v, o)
        ctx.scale = scale
        return o

class Model(nn.Module):
    def forward(self, q, k, v):
        return Attention.apply(q, k, v, q.shape[-1] ** -0.5)
"""

BATCH_NORM = """
@triton.jit
def stats(x, mean, var, C, HW, N, B: tl.constexpr):
    c = tl.program_id(0)
    total, square = 0.0, 0.0
    for n in range(N):
        for start in range(0, HW, B):
            i = start + tl.arange(0, B)
            v = tl.load(x + (n * C + c) * HW + i, mask=i < HW, other=0.0)
            total += tl.sum(v)
            square += tl.sum(v * v)
    m = total / (N * HW)
    tl.store(mean + c, m)
    tl.store(var + c, square / (N * HW) - m * m)

@triton.jit
def apply(x, y, mean, var, w, b, C, HW, eps, B: tl.constexpr):
    p = tl.program_id(0)
    c, i = p % C, tl.arange(0, B)
    for start in range(0, HW, B):
        v = tl.load(x + p * HW + start + i, mask=start + i < HW)
        v = (v - tl.load(mean + c)) * tl.rsqrt(tl.load(var + c) + eps) * tl.load(w + c) + tl.load(b + c)
        tl.store(y + p * HW + start + i, tl.maximum(v, 0.0), mask=start + i < HW)

class Model(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn = nn.BatchNorm2d(channels)
        self.scratch = {}

    def forward(self, x):
        x = self.conv(x).contiguous()
        N, C, H, W = x.shape
        if (C, x.device) not in self.scratch:
            self.scratch[C, x.device] = torch.empty(2, C, device=x.device)
        mean, var = self.scratch[C, x.device]
        stats[(C,)](x, mean, var, C, H * W, N, B=64)
        with torch.no_grad():
            self.bn.running_mean.mul_(0.9).add_(mean, alpha=0.1)
            self.bn.running_var.lerp_(var, 0.1)
            self.bn.num_batches_tracked += 1
        y = torch.empty_like(x)
        apply[(N * C,)](x, y, mean, var, self.bn.weight, self.bn.bias, C, H * W, self.bn.eps, B=64, num_warps=2)
        return y
"""

INDUCTOR = """
from torch._inductor.runtime import triton_helpers
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._C import _cuda_getCurrentRawStream as get_raw_stream
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cuda
reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor

@triton.jit
def triton_poi_fused_relu_0(in_out_ptr0, in_ptr0, xnumel, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_out_ptr0 + xindex, xmask)
    tmp1 = tl.load(in_ptr0 + xindex % 16, xmask, eviction_policy="evict_last")
    tmp2 = triton_helpers.maximum(tl.full([1], 0, tl.int32), tmp0 + tmp1)
    tl.store(in_out_ptr0 + xindex, libdevice.tanh(tmp2), xmask)

def call(args):
    primals_1, primals_2, primals_3 = args
    args.clear()
    assert_size_stride(primals_1, (4, 8), (8, 1))
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        buf0 = empty_strided_cuda((4, 16), (16, 1), torch.float32)
        extern = torch.mm(primals_1, reinterpret_tensor(primals_2, (8, 16), (1, 8), 0), out=buf0)
        buf1 = buf0
        del buf0
        get_raw_stream(0)
        triton_poi_fused_relu_0[(triton.cdiv(64, 64),)](buf1, primals_3, 64, XBLOCK=64, num_warps=1, num_stages=1)
    return (buf1,)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 16)

    def forward(self, x):
        return call([x, self.fc.weight, self.fc.bias])[0]
"""

half = {"dtype": "float16"}
CASES = {
    "softmax": (SOFTMAX, [tensor(1823, 781)], ["empty_like", "launch"]),
    "matmul": (MATMUL, [tensor(128, 64)], ["t", "empty.memory_format", "launch"]),
    "attention": (ATTENTION, [tensor(2, 3, 256, 64, **half)] * 3, ["empty_like", "launch"]),
    "inductor": (INDUCTOR, [tensor(4, 8)], ["empty_strided", "as_strided", "mm.out", "launch"]),
    "batch_norm": (
        BATCH_NORM,
        [tensor(2, 4, 16, 16)],
        ["convolution", "unbind.int", "launch", "mul_.Tensor", "add_.Tensor", "lerp_.Scalar", "add_.Tensor", "empty_like", "launch"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_real_programs(name: str) -> None:
    text, inputs, expected = CASES[name]
    plan = plan_of(candidate(text, inputs))
    assert ops(plan["run"]) == expected
    assert msgpack.unpackb(msgpack.packb(plan)) == plan
    for kernel in plan["kernels"]:
        compile(kernel["support"] + kernel["source"], "shipped.py", "exec", dont_inherit=True)


def test_blocks_of_descriptors_follow_the_variant() -> None:
    text, inputs, _ = CASES["attention"]
    variants = plan_of(candidate(text, inputs))["run"][1]["variants"]
    assert [v["args"][1]["desc"]["block"] for v in variants] == [[64, 64], [128, 64]]


def test_a_workspace_kept_in_a_dictionary_is_made_in_setup() -> None:
    plan = plan_of(candidate(BATCH_NORM, [tensor(2, 4, 16, 16)]))
    assert ops(plan["setup"])[-1] == "empty.memory_format" and plan["warmup_inputs"] == []


def test_the_support_of_a_tuned_kernel_has_no_tuning() -> None:
    (kernel, *_) = plan_of(candidate(MATMUL, [tensor(128, 64)]))["kernels"]
    assert "def leaky_relu" in kernel["support"] and "configs" not in kernel["support"] + kernel["source"]
