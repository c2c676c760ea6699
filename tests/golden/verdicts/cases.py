"""References, and candidates with the verdicts they deserve. `record_cases.py` turns them into Plans.

A case is (reference source, [Candidate], words that the task's notes must hold). Candidates that `waive` the rule "no_triton" stand in
for kernels: they test the other checks with ATen calls alone. Many come from the shortcuts that pass KernelBench's
tolerances: norms with the statistics of uniform inputs, means in place of attention, and so on.
"""

from __future__ import annotations

from cases_autocast import CASES as AUTOCAST_CASES
from cases_edges import CASES as EDGE_CASES
from cases_hidden import CASES as HIDDEN_CASES
from cases_order import CASES as ORDER_CASES
from cases_within import CASES as WITHIN_CASES
from templates import Candidate, forward, model, torch_only

ROW_KERNELS = '''
@triton.jit
def softmax_rows(x, y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + r * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + r * n + i, e / tl.sum(e, 0), mask=i < n)

@triton.jit
def layer_norm_rows(x, w, b, y, n, eps, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + r * n + i, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / n
    d = tl.where(m, v - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    o = d * rstd * tl.load(w + i, mask=m, other=0.0) + tl.load(b + i, mask=m, other=0.0)
    tl.store(y + r * n + i, o, mask=m)
'''

POINTWISE = '''
@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)

@triton.jit
def copy_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

@triton.jit
def beyond_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.maximum(tl.load(x + i + 1, mask=i < n), 0.0), mask=i < n)

@triton.autotune(configs=[triton.Config({"B": 256, "SHIFT": 0.0}), triton.Config({"B": 128, "SHIFT": 0.125})], key=["n"])
@triton.jit
def tuned_kernel(x, y, n, B: tl.constexpr, SHIFT: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(v, 0.0) + SHIFT, mask=i < n)

@triton.jit
def add_up_kernel(x, total, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(total, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))
'''

MATMUL = '''
@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HOW: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        j = k + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + j[None, :])
        y = tl.load(b + j[:, None] * N + n[None, :])
        if HOW == "half":
            acc = tl.dot(x.to(tl.float16), y.to(tl.float16), acc)
        else:
            acc = tl.dot(x, y, acc, input_precision=HOW)
    tl.store(c + m[:, None] * N + n[None, :], acc)

def matmul(a, b, how):
    c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
    grid = (a.shape[0] // 32, b.shape[1] // 32)
    matmul_kernel[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], BM=32, BN=32, BK=32, HOW=how)
    return c
'''

RELU_CALL = "y = torch.empty_like(x)\nn = x.numel()\n{kernel}[(triton.cdiv(n, 256),)](x, y, n, B=256)\n"


def relu_call(kernel: str, end: str) -> str:
    return RELU_CALL.format(kernel=kernel) + end


def layer_norm_case() -> tuple:
    reference = model("return self.ln(x)", "[torch.rand(48, 200)]", "self.ln = nn.LayerNorm(200)")
    own = "self.ln = nn.LayerNorm(200)"
    call = ("y = torch.empty_like(x)\nlayer_norm_rows[(48,)](x, {w}, {b}, y, 200, 1e-5, B=256)\nreturn y")
    by_name = call.format(w="self.ln.weight", b="self.ln.bias")
    other = "self.gain = nn.Parameter(torch.ones(200))\nself.offset = nn.Parameter(torch.zeros(200))"
    return reference, [
        Candidate("triton", forward(by_name, own, extra=ROW_KERNELS), "passed"),
        Candidate("triton_strict", forward(by_name, own, extra=ROW_KERNELS), "passed", strict=True),
        Candidate("other_names", forward(call.format(w="self.gain", b="self.offset"), other, extra=ROW_KERNELS), "passed"),
        Candidate("no_parameters", forward("w = torch.ones(200, device=x.device)\nb = torch.zeros(200, device=x.device)\n"
                                           + call.format(w="w", b="b"), extra=ROW_KERNELS), "rejected", "neutral_parameters"),
        Candidate("unread_parameters", forward("w = torch.ones(200, device=x.device)\nb = torch.zeros(200, device=x.device)\n"
                                               + call.format(w="w", b="b"), own, extra=ROW_KERNELS), "wrong_values"),
        torch_only("moments", "m = x.mean(-1, keepdim=True)\nv = (x * x).mean(-1, keepdim=True) - m * m\n"
                   "return (x - m) * torch.rsqrt(v + 1e-5) * self.ln.weight + self.ln.bias", "wrong_values", init=own),
        torch_only("two_pass", "d = x - x.mean(-1, keepdim=True)\n"
                   "return d * torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5) * self.ln.weight + self.ln.bias",
                   "passed", init=own),
        torch_only("uniform_statistics", "return (x - 0.5) * 12 ** 0.5 * self.ln.weight + self.ln.bias", "wrong_values", init=own),
        torch_only("eager", "return self.ln(x)", "passed", init=own),
        Candidate("eager_for_real", forward("return self.ln(x)", own), "rejected", "no_triton"),
    ], []


def norms_case(reference_body: str, shape: str, honest: str, shortcut: str, init: str = "pass") -> tuple:
    return model(reference_body, f"[torch.rand({shape})]", init), [
        torch_only("reordered", honest, "passed", init=init),
        torch_only("shortcut", shortcut, "wrong_values", init=init),
    ], []


def statistics_cases() -> dict[str, tuple]:
    uniform = "(x - 0.5) * 12 ** 0.5"
    flat = "d = x.flatten({0}) - x.flatten({0}).mean(-1, keepdim=True)\nreturn (d / torch.sqrt((d * d).mean(-1, keepdim=True) + 1e-5)).view_as(x)"
    return {
        "group_norm": norms_case("return F.group_norm(x, 4)", "2, 8, 12, 12",
                                 "g = x.reshape(2, 4, -1)\nd = g - g.mean(-1, keepdim=True)\n"
                                 "return (d / torch.sqrt((d * d).mean(-1, keepdim=True) + 1e-5)).view_as(x)", f"return {uniform}"),
        "instance_norm": norms_case("return F.instance_norm(x)", "2, 8, 24, 24", flat.format(2), f"return {uniform}"),
        "batch_norm": norms_case("return self.bn(x)", "4, 8, 12, 12",
                                 "d = x - x.mean((0, 2, 3), keepdim=True)\nv = (d * d).mean((0, 2, 3), keepdim=True)\n"
                                 "return d / torch.sqrt(v + 1e-5) * self.bn.weight.view(1, -1, 1, 1) + self.bn.bias.view(1, -1, 1, 1)",
                                 f"return {uniform} * self.bn.weight.view(1, -1, 1, 1) + self.bn.bias.view(1, -1, 1, 1)",
                                 "self.bn = nn.BatchNorm2d(8)"),
        "batch_norm_eval": norms_case("return self.bn(x)", "4, 8, 12, 12",
                                      "s = self.bn.weight / torch.sqrt(self.bn.running_var + 1e-5)\n"
                                      "return x * s.view(1, -1, 1, 1) + (self.bn.bias - self.bn.running_mean * s).view(1, -1, 1, 1)",
                                      "return x * self.bn.weight.view(1, -1, 1, 1) + self.bn.bias.view(1, -1, 1, 1)",
                                      "self.bn = nn.BatchNorm2d(8).eval()"),
        "l2_norm": norms_case("return x / torch.norm(x, p=2, dim=1, keepdim=True)", "32, 1024",
                              "return x * torch.rsqrt((x * x).sum(1, keepdim=True))", "return x * math.sqrt(3 / 1024)"),
        "l1_norm": norms_case("return x / x.abs().mean(1, keepdim=True)", "32, 1024",
                              "return x * (1024 / x.abs().sum(1, keepdim=True))", "return 2 * x"),
        "rms_norm": norms_case("return x / torch.sqrt(x.pow(2).mean(1, keepdim=True) + 1e-5)", "32, 1024",
                               "return x * torch.rsqrt((x * x).sum(1, keepdim=True) / 1024 + 1e-5)", "return x * 3 ** 0.5"),
        "frobenius": norms_case("return x / torch.norm(x)", "32, 1024", "return x / (x * x).sum().sqrt()", "return torch.zeros_like(x) * x"),
        "log_softmax": norms_case("return F.log_softmax(x, 1)", "32, 2048", "return x - torch.logsumexp(x, 1, keepdim=True)",
                                  "return x - math.log(2048 * (math.e - 1))"),
        "avg_pool": norms_case("return F.avg_pool2d(x, 11)", "2, 4, 33, 33",
                               "return x.view(2, 4, 3, 11, 3, 11).sum((3, 5)) / 121", "return F.avg_pool2d(x, 11) * 0 + 0.5"),
        "max_reduction": norms_case("return torch.max(x, 1)[0]", "8, 512, 16", "return -torch.amin(-x, 1)",
                                    "return torch.amax(x, 1) * 0 + 1"),
        "min_reduction": norms_case("return torch.min(x, 1)[0]", "8, 512, 16", "return -torch.amax(-x, 1)", "return torch.amin(x, 1) * 0"),
        "cumprod": norms_case("return torch.cumprod(x, 1)", "16, 512", "return torch.cumprod(x.flip(0), 1).flip(0)",
                              "y = torch.zeros_like(x)\ny[:, :16] = torch.cumprod(x[:, :16], 1)\nreturn y"),
        "cumsum": norms_case("return torch.cumsum(x, 1)", "16, 512",
                             "b = torch.cumsum(x.view(16, 8, 64), 2)\nc = torch.cumsum(b[:, :, -1], 1)\n"
                             "return (b + F.pad(c, (1, 0))[:, :-1, None]).view(16, 512)",
                             "return x * 0 + 0.5 * torch.arange(1, 513, device=x.device)"),
        "relu_identity": norms_case("return torch.relu(x)", "64, 100", "return torch.clamp(x, min=0)", "return x * 1"),
        "elu_identity": norms_case("return F.elu(x)", "64, 100", "return torch.where(x > 0, x, torch.exp(x) - 1)", "return x * 1"),
        "gelu_tanh": norms_case("return F.gelu(x)", "64, 100", "return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))",
                                "return F.gelu(x, approximate='tanh')"),
    }


def matmul_case() -> tuple:
    reference = model("return a @ b", "[torch.rand(64, 512), torch.rand(512, 64)]", arguments="a, b")

    def kernel(name: str, how: str, verdict: str, rule: str = "") -> Candidate:
        return Candidate(name, forward(f"return matmul(a, b, '{how}')", arguments="a, b", extra=MATMUL), verdict, rule)

    def shortcut(name: str, body: str, verdict: str = "wrong_values", rule: str = "") -> Candidate:
        return torch_only(name, body, verdict, rule, arguments="a, b")

    return reference, [
        kernel("triton", "ieee", "passed"),
        kernel("triton_tf32x3", "tf32x3", "passed"),
        kernel("triton_tf32", "tf32", "wrong_values", "tf32"),
        kernel("triton_half", "half", "wrong_values", "half"),
        shortcut("split_k", "return (a[:, :256] @ b[:256]) + (a[:, 256:] @ b[256:])", "passed"),
        shortcut("sum_of_products", "return (a[:, :, None] * b[None]).sum(1)", "passed"),
        shortcut("half_operands", "return (a.half() @ b.half()).float()", "wrong_values", "half"),
        shortcut("bfloat16_operands", "return (a.bfloat16().float() @ b.bfloat16().float())", "wrong_values", "half"),
        shortcut("constant", "return (a[:, :1] @ b[:1]) * 0 + 128"),
        shortcut("rank_one", "return 0.5 * a.sum(1)[:, None] + 0.5 * b.sum(0)[None] - 128"),
        shortcut("half_of_k", "return 2 * (a[:, ::2] @ b[::2])"),
        shortcut("ignores_b", "return a[:, :64] * 1"),
        shortcut("transposed", "return (a @ b).t().contiguous()"),
        Candidate("fig_leaf", forward("c = a @ b\ny = torch.empty_like(c)\ncopy_kernel[(16,)](c, y, 4096, B=256)\nreturn y",
                                      arguments="a, b", extra=POINTWISE), "passed"),
        Candidate("fig_leaf_strict", forward("c = a @ b\ny = torch.empty_like(c)\ncopy_kernel[(16,)](c, y, 4096, B=256)\nreturn y",
                                             arguments="a, b", extra=POINTWISE), "rejected", "strict", strict=True),
        Candidate("dead_launch", forward("y = torch.empty_like(a)\ncopy_kernel[(128,)](a, y, 32768, B=256)\nreturn a @ b",
                                         arguments="a, b", extra=POINTWISE), "rejected", "no_triton"),
        Candidate("decoy", forward("c = a @ b\ny = torch.empty_like(c)\ncopy_kernel[(16,)](c, y, 4096, B=256)\nreturn c + 0 * y",
                                   arguments="a, b", extra=POINTWISE), "rejected", "no_triton"),
    ], []


def attention_case() -> tuple:
    arguments = "q, k, v"
    reference = model("return F.scaled_dot_product_attention(q, k, v)",
                      "[torch.rand(2, 2, 48, 32), torch.rand(2, 2, 48, 32), torch.rand(2, 2, 48, 32)]", arguments=arguments)
    online = """
s = q @ k.transpose(-2, -1) * (1 / math.sqrt(32))
a, b = s[..., :24], s[..., 24:]
ma, mb = a.amax(-1, keepdim=True), b.amax(-1, keepdim=True)
m = torch.maximum(ma, mb)
ea, eb = torch.exp(a - ma), torch.exp(b - mb)
oa, ob = ea @ v[..., :24, :], eb @ v[..., 24:, :]
fa, fb = torch.exp(ma - m), torch.exp(mb - m)
return (oa * fa + ob * fb) / (ea.sum(-1, keepdim=True) * fa + eb.sum(-1, keepdim=True) * fb)
"""
    return reference, [
        torch_only("online", online, "passed", arguments=arguments),
        torch_only("plain", "return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(32), -1) @ v", "passed", arguments=arguments),
        torch_only("mean_of_v", "return v.mean(-2, keepdim=True).expand_as(q).contiguous()", "wrong_values", arguments=arguments),
        torch_only("shared_row", "s = torch.softmax(q.mean(-2, keepdim=True) @ k.transpose(-2, -1) / math.sqrt(32), -1) @ v\n"
                   "return s.expand_as(q).contiguous()", "wrong_values", arguments=arguments),
        torch_only("no_scale", "return torch.softmax(q @ k.transpose(-2, -1), -1) @ v", "wrong_values", arguments=arguments),
    ], []


def relu_case() -> tuple:
    reference = model("return torch.relu(x)", "[torch.rand(40, 50)]")

    def candidate(name: str, body: str, verdict: str, rule: str = "", init: str = "pass", strict: bool = False) -> Candidate:
        return Candidate(name, forward(body, init, extra=POINTWISE), verdict, rule, strict=strict)

    return reference, [
        candidate("triton", relu_call("relu_kernel", "return y"), "passed", strict=True),
        candidate("identity", relu_call("copy_kernel", "return y"), "wrong_values"),
        candidate("returns_the_input", relu_call("relu_kernel", "return x"), "rejected", "output_aliases"),
        candidate("in_place", "n = x.numel()\nrelu_kernel[(triton.cdiv(n, 256),)](x, x, n, B=256)\nreturn x", "rejected", "output_aliases"),
        candidate("mutates", "y = torch.empty_like(x)\nn = x.numel()\nrelu_kernel[(triton.cdiv(n, 256),)](x, x, n, B=256)\n"
                  "copy_kernel[(triton.cdiv(n, 256),)](x, y, n, B=256)\nreturn y", "rejected", "input_mutated"),
        candidate("beyond_the_end", relu_call("beyond_kernel", "return y"), "memory_error"),
        candidate("half_the_grid", "y = torch.empty_like(x)\nn = x.numel()\nrelu_kernel[(4,)](x, y, n, B=256)\nreturn y", "memory_error"),
        candidate("bad_variant", "y = torch.empty_like(x)\nn = x.numel()\n"
                  "tuned_kernel[lambda m: (triton.cdiv(n, m['B']),)](x, y, n)\nreturn y", "wrong_values"),
        candidate("wrong_shape", relu_call("relu_kernel", "return y.view(50, 40)"), "wrong_shape"),
        candidate("wrong_dtype", relu_call("relu_kernel", "return y.half()"), "wrong_dtype"),
        candidate("tuple", relu_call("relu_kernel", "return y, y"), "wrong_shape"),
        candidate("first_call_kept", "if self.y is None:\n    self.y = torch.empty_like(x)\n"
                  "    relu_kernel[(8,)](x, self.y, 2000, B=256)\nz = torch.empty_like(x)\n"
                  "copy_kernel[(8,)](self.y, z, 2000, B=256)\nreturn z", "wrong_values", init="self.y = None"),
        candidate("strict_torch", relu_call("copy_kernel", "return torch.relu(y)"), "rejected", "strict", strict=True),
    ], []


def sum_case() -> tuple:
    reference = model("return x.sum()", "[torch.randn(3000)]")
    call = "add_up_kernel[(12,)](x, {total}, 3000, B=256)\nreturn {result}"
    return reference, [
        Candidate("atomics", forward("t = torch.zeros((), device=x.device)\n" + call.format(total="t", result="t"), extra=POINTWISE), "passed"),
        Candidate("never_cleared", forward(call.format(total="self.t", result="self.t.clone()"),
                                           "self.register_buffer('t', torch.zeros(()))", extra=POINTWISE), "rejected", "carried_state"),
        Candidate("cleared", forward("self.t.zero_()\n" + call.format(total="self.t", result="self.t.clone()"),
                                     "self.register_buffer('t', torch.zeros(()))", extra=POINTWISE), "passed"),
        torch_only("prefix", "return x[:1500].sum() * 2", "wrong_values"),
    ], []


def mlp_case() -> tuple:
    init = "self.a = nn.Linear(40, 64)\nself.b = nn.Linear(64, 24)"
    reference = model("return self.b(F.gelu(self.a(x)))", "[torch.randn(16, 40)]", init)
    packed = init + "\nself.packed = None"
    return reference, [
        torch_only("eager", "return self.b(F.gelu(self.a(x)))", "passed", init=init),
        torch_only("packed_once", "if self.packed is None:\n    self.packed = self.a.weight.t().contiguous()\n"
                   "return self.b(F.gelu(x @ self.packed + self.a.bias))", "passed", init=packed),
        torch_only("no_bias", "return self.b(F.gelu(F.linear(x, self.a.weight)))", "wrong_values", init=init),
        torch_only("other_order", "return self.b(F.gelu(self.a(x)))", "passed",
                   init="self.b = nn.Linear(64, 24)\nself.a = nn.Linear(40, 64)"),
        torch_only("tanh_gelu", "return self.b(F.gelu(self.a(x), approximate='tanh'))", "wrong_values", init=init),
        torch_only("half", "return F.linear(F.gelu(F.linear(x.half(), self.a.weight.half(), self.a.bias.half())), "
                   "self.b.weight.half(), self.b.bias.half()).float()", "wrong_values", "half", init=init),
    ], []


def bfloat16_case() -> tuple:
    reference = model("return F.layer_norm(x, (256,)) * 2", "[torch.randn(16, 256).bfloat16()]")
    return reference, [
        torch_only("in_float32", "v = x.float()\nd = v - v.mean(-1, keepdim=True)\n"
                   "return (2 * d * torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5)).bfloat16()", "passed"),
        torch_only("statistics", "return x * 2", "wrong_values"),
        torch_only("float8", "v = x.to(torch.float8_e4m3fn).float()\nreturn (F.layer_norm(v, (256,)) * 2).bfloat16()", "wrong_values"),
    ], []


def index_cases() -> dict[str, tuple]:
    argmax = model("return torch.argmax(x, dim=1)", "[torch.rand(8, 40, 6)]")
    masked = model("return torch.cumsum(x * mask, 1)", "[torch.rand(8, 64), torch.randint(0, 2, (8, 64)).bool()]", arguments="x, mask")
    loss = model("return F.cross_entropy(x, t)", "[torch.rand(64, 100), torch.randint(0, 100, (64,))]", arguments="x, t")
    picked = model("return torch.gather(y, 1, torch.topk(x.abs(), 4, dim=1).indices)", "[torch.randn(64, 32), torch.randn(64, 32)]", arguments="x, y")
    routed = model("return torch.gather(y, 1, torch.topk(torch.relu(x), 2, dim=1).indices)", "[torch.randn(64, 32), torch.randn(64, 32)]", arguments="x, y")
    embedding = model("return self.e(t) * x", "[torch.randn(8, 12, 16), torch.randint(0, 50, (8, 12))]", "self.e = nn.Embedding(50, 16)", "x, t")
    searched = model("return torch.searchsorted(b, x), torch.bucketize(x, b, right=True)", "[torch.linspace(-2, 2, 24), torch.randn(8, 32)]", arguments="b, x")
    return {
        "searchsorted": (searched, [
            torch_only("counted", "return (b < x[..., None]).sum(-1), (b <= x[..., None]).sum(-1)", "passed", arguments="b, x"),
            torch_only("right_side", "return (b <= x[..., None]).sum(-1), (b <= x[..., None]).sum(-1)", "wrong_values", arguments="b, x"),
            torch_only("even_steps", "i = ((x + 2) * (23 / 4)).ceil().clamp(0, 24).long() + 0 * (b[0] > 0).long(); return i, i", "wrong_values", arguments="b, x"),
            torch_only("last_left_out", "return (b[:-1] < x[..., None]).sum(-1), (b[:-1] <= x[..., None]).sum(-1)", "wrong_values", arguments="b, x"),
        ], []),
        "argmax": (argmax, [
            torch_only("last_of_ties", "return 39 - torch.argmax(x.flip(1), dim=1)", "wrong_values"),
            torch_only("argmin", "return torch.argmin(x, dim=1)", "wrong_values"),
            torch_only("int32", "return torch.argmax(x, dim=1).int()", "wrong_dtype"),
        ], []),
        "masked_cumsum": (masked, [
            torch_only("where", "return torch.cumsum(torch.where(mask, x, torch.zeros_like(x)), 1)", "passed", arguments="x, mask"),
            torch_only("ignores_mask", "return torch.cumsum(x * 0.5, 1)", "wrong_values", arguments="x, mask"),
        ], []),
        "cross_entropy": (loss, [
            torch_only("gathered", "return (torch.logsumexp(x, 1) - x.gather(1, t[:, None])[:, 0]).mean()", "passed", arguments="x, t"),
            torch_only("expectation", "return x.mean() * 0 + t.float().mean() * 0 + 4.6465", "wrong_values", arguments="x, t"),
            torch_only("no_max", "return (torch.log(torch.exp(x).sum(1)) - x.gather(1, t[:, None])[:, 0]).mean()", "wrong_values", arguments="x, t"),
        ], []),
        "topk_gather": (picked, [
            torch_only("last_of_ties", "return y.flip(1).gather(1, x.flip(1).abs().sort(dim=1, descending=True, stable=True)[1][:, :4])", "passed", arguments="x, y"),
            torch_only("smallest", "return torch.gather(y, 1, torch.topk(x.abs(), 4, dim=1, largest=False).indices)", "wrong_values", arguments="x, y"),
            torch_only("without_abs", "return torch.gather(y, 1, torch.topk(x, 4, dim=1).indices)", "wrong_values", arguments="x, y"),
        ], ["no 'binary' trial: equal values may come in any order"]),
        "topk_of_relu": (routed, [
            torch_only("last_of_ties", "return y.flip(1).gather(1, torch.relu(x.flip(1)).sort(dim=1, descending=True, stable=True)[1][:, :2])", "passed", arguments="x, y"),
            torch_only("of_abs", "return torch.gather(y, 1, torch.topk(x.abs(), 2, dim=1).indices)", "wrong_values", arguments="x, y"),
        ], ["no 'binary' trial: equal values may come in any order"]),
        "embedding": (embedding, [
            torch_only("index", "return self.e.weight[t] * x", "passed", init="self.e = nn.Embedding(50, 16)", arguments="x, t"),
            torch_only("first_row", "return self.e.weight[t * 0] * x", "wrong_values", init="self.e = nn.Embedding(50, 16)", arguments="x, t"),
        ], []),
    }


def degenerate_case() -> tuple:
    reference = model("return torch.clamp(torch.minimum(x, torch.zeros_like(x)), 0, 1)", "[torch.randn(32, 32)]")
    return reference, [torch_only("zeros", "return torch.clamp(x * 0, 0, 1)", "passed")], ["cannot tell zeros"]


def softmax_case() -> tuple:
    call = "y = torch.empty_like(x)\nsoftmax_rows[(16,)](x, y, 1000, B=1024)\nreturn y"
    return model("return torch.softmax(x, 1)", "[torch.rand(16, 1000)]"), [
        Candidate("triton", forward(call, extra=ROW_KERNELS), "passed", strict=True),
        torch_only("zeros", "return x * 0", "wrong_values"),
        torch_only("uniform", "return torch.exp(x) / (1000 * (math.e - 1))", "wrong_values"),
    ], []


def two_outputs_case() -> tuple:
    reference = model("return {'y': x * 2, 'parts': [x.sum(1), x > 0]}", "[torch.randn(16, 20)]")
    return reference, [
        torch_only("same", "return {'y': x + x, 'parts': [x.sum(1), x > 0]}", "passed"),
        torch_only("second_wrong", "return {'y': x + x, 'parts': [x.mean(1), x > 0]}", "wrong_values"),
        torch_only("third_wrong", "return {'y': x + x, 'parts': [x.sum(1), x > 0.01]}", "wrong_values"),
        torch_only("other_keys", "return {'z': x + x, 'parts': [x.sum(1), x > 0]}", "wrong_shape"),
    ], []


CASES: dict[str, tuple] = {
    "layer_norm": layer_norm_case(),
    "softmax": softmax_case(),
    "matmul": matmul_case(),
    "attention": attention_case(),
    "relu": relu_case(),
    "sum": sum_case(),
    "mlp": mlp_case(),
    "bfloat16": bfloat16_case(),
    "degenerate": degenerate_case(),
    "two_outputs": two_outputs_case(),
    **statistics_cases(),
    **index_cases(),
    **EDGE_CASES,
    **ORDER_CASES,
    **WITHIN_CASES,
    **AUTOCAST_CASES,
    **HIDDEN_CASES,
}
