"""Cases in which the reference jumps or is flat (`src/verify/edges.h`), and half precision that decides who wins. Honest candidates
compute what eager PyTorch does in another way, so that their roundings differ; the others are wrong by little, or in few places."""

from __future__ import annotations

from templates import both, model

ROUNDED = "q = torch.round(x.float() / s)\n"
SCALES = "s = x.abs().amax(-1, keepdim=True).float() / 127\n"
RECIPROCAL = "a = x.abs().amax(-1, keepdim=True).float()\ns = a / 127\nq = torch.round(x.float() * (127 / a))\n"


def int8_case() -> tuple:
    clamped = "torch.clamp(q, -128, 127).to(torch.int8), s"
    reference = model(SCALES + ROUNDED + "return " + clamped, "[torch.randn(64, 512).bfloat16()]")
    return reference, both(
        ("reciprocal", RECIPROCAL + "return " + clamped, "passed"),
        ("in_float64", "x = x.double()\ns = x.abs().amax(-1, keepdim=True) / 127\n"
                       "return torch.clamp(torch.round(x / s), -128, 127).to(torch.int8), s.float()", "passed"),
        ("away_from_zero", SCALES + "y = x.float() / s\nq = torch.sign(y) * torch.floor(y.abs() + 0.5)\nreturn " + clamped, "passed"),
        ("one_more", SCALES + ROUNDED + "q = q + 1\nreturn " + clamped, "wrong_values"),
        ("one_more_at_few_places", SCALES + ROUNDED + "q[:, ::100] += 1\nreturn " + clamped, "wrong_values"),
        ("truncated", SCALES + "q = torch.trunc(x.float() / s)\nreturn " + clamped, "wrong_values"),
        ("rounded_in_bfloat16", SCALES + "q = torch.round(x / s.bfloat16()).float()\nreturn " + clamped, "wrong_values"),
        ("by_128", SCALES + "q = torch.round(x.float() / (s * (127 / 128)))\nreturn " + clamped, "wrong_values"),
        ("half_the_scale", SCALES + ROUNDED + "return torch.clamp(q, -128, 127).to(torch.int8), s * 0.99", "wrong_values"),
    ), []


def groups_case() -> tuple:
    view = "x = x.float().view(32, 4, 128)\n"
    end = "q = q.clamp(-127, 127)\nreturn q.to(torch.int8).view(32, 512), s[..., 0]"
    scale = "s = (x.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-8)\n"
    reference = model(view + scale + "q = torch.round(x / s)\n" + end, "[torch.randn(32, 512).half()]")
    return reference, both(
        ("reciprocal", view + scale + "q = torch.round(x * (1 / s))\n" + end, "passed"),
        ("one_scale", view + "s = (x.abs().amax() / 127).repeat(32, 4, 1)\nq = torch.round(x / s)\n" + end, "wrong_values"),
        ("floored", view + scale + "q = torch.floor(x / s)\n" + end, "wrong_values"),
    ), []


def zero_point_case() -> tuple:
    start = "lo, hi = x.min(), x.max()\ns = (hi - lo) / 255\nz = torch.round(-lo / s)\n"
    reference = model(start + "return torch.clamp(torch.round(x / s) + z, 0, 255).to(torch.uint8)", "[torch.randn(64, 256)]")
    return reference, both(
        ("reciprocal", start + "return torch.clamp(torch.round(x * (1 / s)) + z, 0, 255).to(torch.uint8)", "passed"),
        ("no_zero_point", start + "return torch.clamp(torch.round(x / s) + 128, 0, 255).to(torch.uint8)", "wrong_values"),
        ("one_less", start + "return torch.clamp(torch.round(x / s) + z - 1, 0, 255).to(torch.uint8)", "wrong_values"),
    ), []


def clamp_case() -> tuple:
    reference = model("return torch.clamp(torch.round(x * 37.3), -128, 127).to(torch.int8)", "[torch.randn(64, 256)]")
    return reference, both(
        ("divided", "return torch.clamp(torch.round(x / (1 / 37.3)), -128, 127).to(torch.int8)", "passed"),
        ("no_clamp", "return torch.round(x * 37.3).int().to(torch.int8)", "wrong_values"),
        ("clamp_to_127", "return torch.clamp(torch.round(x * 37.3), -127, 127).to(torch.int8)", "wrong_values"),
    ), []


def ties_case() -> tuple:
    """The argument of round is exact, so that a tie is one for everybody."""
    reference = model("return torch.clamp(torch.round(x * 2), -128, 127).to(torch.int8)",
                      "[torch.randint(-200, 200, (64, 256)).float() / 4]")
    return reference, both(
        ("added", "return torch.clamp(torch.round(x + x), -128, 127).to(torch.int8)", "passed"),
        ("away_from_zero", "y = x * 2\ny = torch.sign(y) * torch.floor(y.abs() + 0.5)\n"
                           "return torch.clamp(y, -128, 127).to(torch.int8)", "wrong_values"),
        ("half_up", "return torch.clamp(torch.floor(x * 2 + 0.5), -128, 127).to(torch.int8)", "wrong_values"),
    ), []


def linear_case() -> tuple:
    """What is divided is rounded to bfloat16 here and not there, and nothing is clamped."""
    init = "self.l = nn.Linear(128, 128)\nself.to(torch.bfloat16)"
    end = "return torch.round(y / s).to(torch.int8), s"
    reference = model("y = self.l(x)\ns = y.abs().amax(-1, keepdim=True).float() / 127\ny = y.float()\n" + end,
                      "[torch.randn(64, 128).bfloat16()]", init)
    wide = "y = F.linear(x.float(), self.l.weight.float(), self.l.bias.float())\n"
    return reference, both(
        ("rounded_once", wide + "s = y.bfloat16().abs().amax(-1, keepdim=True).float() / 127\n"
                                "return torch.round(y / s).clamp(-127, 127).to(torch.int8), s", "passed"),
        ("in_float32", wide + "s = y.abs().amax(-1, keepdim=True) / 127\n" + end, "passed"),
        ("no_bias", "y = F.linear(x, self.l.weight).float()\ns = y.abs().amax(-1, keepdim=True) / 127\n" + end, "wrong_values"),
        ("three_more", wide + "s = y.abs().amax(-1, keepdim=True) / 127\n" + end.replace("y / s)", "y / s + 3).clamp(-127, 127)"), "wrong_values"),
        init=init,
    ), []


def packing_case() -> tuple:
    start = "s = x.abs().amax(-1, keepdim=True).float() / 7\n"
    end = "q = q.clamp(-8, 7).to(torch.int8)\nreturn ((q[:, ::2] & 15) | ((q[:, 1::2] & 15) << 4)).to(torch.uint8)"
    reference = model(start + "q = torch.round(x.float() / s)\n" + end, "[torch.randn(64, 512).bfloat16()]")
    return reference, both(
        ("reciprocal", start + "q = torch.round(x.float() * (1 / s))\n" + end, "passed"),
        ("swapped", start + "q = torch.round(x.float() / s)\n" + end.replace("::2", "*").replace("1*", "::2").replace("*", "1::2"),
         "wrong_values"),
        ("one_more", start + "q = torch.round(x.float() / s) + 1\n" + end, "wrong_values"),
    ), []


def fake_quantize_case(cast: str) -> tuple:
    end = f"return (torch.clamp(q, -127, 127) * s){cast}"
    reference = model(SCALES + ROUNDED + end, f"[torch.randn(64, 512){cast}]")
    return reference, both(
        ("reciprocal", RECIPROCAL + end, "passed"),
        ("one_more", SCALES + ROUNDED + "q = q + 1\n" + end, "wrong_values"),
        ("truncated", SCALES + "q = torch.trunc(x.float() / s)\n" + end, "wrong_values"),
        ("identity", "return x * 1", "wrong_values"),
    ), []


def float8_case() -> tuple:
    start = "s = x.abs().amax(-1, keepdim=True).float() / 448\n"
    reference = model(start + "return (x.float() / s).to(torch.float8_e4m3fn), s", "[torch.randn(64, 512).bfloat16()]")
    return reference, both(
        ("reciprocal", start + "return (x.float() * (1 / s)).to(torch.float8_e4m3fn), s", "passed"),
        ("no_scale", start + "return x.float().to(torch.float8_e4m3fn), s", "wrong_values"),
    ), []


def comparison_case() -> tuple:
    reference = model("return (x @ w) > 0, torch.where((x @ w) > 0, x, -x)", "[torch.randn(128, 128), torch.randn(128, 128)]",
                      arguments="x, w")
    halves = "y = x[:, :64] @ w[:64] + x[:, 64:] @ w[64:]\n"
    return reference, both(
        ("in_halves", halves + "return y > 0, torch.where(y > 0, x, -x)", "passed"),
        ("a_little_more", halves + "return y > 1, torch.where(y > 1, x, -x)", "wrong_values"),
        ("all", "return torch.ones_like(x, dtype=torch.bool), x * 1", "wrong_values"), arguments="x, w",
    ), []


def relu_rows_case() -> tuple:
    """Rows of the output that are 0 throughout, in the eager program and in fp64, but not by much."""
    reference = model("return F.relu(x @ w - 12)", "[torch.randn(16384, 32).half(), torch.randn(32, 16).half()]", arguments="x, w")
    wide = "x, w = x.float(), w.float()\n"
    halves = wide + "v = (x[:, :16] @ w[:16]).half() + (x[:, 16:] @ w[16:]).half().float() - 12\n"
    return reference, both(
        ("in_float32", wide + "return F.relu(x @ w - 12).half()", "passed"),
        ("in_halves", halves + "return F.relu(v).half()", "passed"),
        ("slope", halves + "return F.leaky_relu(v, 0.01).half()", "wrong_values"),
        ("constant", halves + "return torch.where(v > 0, v, 1e-3).half()", "wrong_values"),
        ("threshold", halves + "return torch.where(v > -0.2, v.abs(), 0).half()", "wrong_values"), arguments="x, w",
    ), []


def attention_case() -> tuple:
    """Scores of `spread` inputs lie far apart; of two that are close, roundings say which one takes all."""
    init = ("self.q = nn.Linear(256, 256, bias=False)\nself.k = nn.Linear(256, 64, bias=False)\nself.v = nn.Linear(256, 64, bias=False)\n"
            "self.to(torch.bfloat16)")
    heads = ("q = self.q(x).view(1, 128, 4, 64).transpose(1, 2)\nk = self.k(x).view(1, 128, 1, 64).transpose(1, 2)\n"
             "v = self.v(x).view(1, 128, 1, 64).transpose(1, 2)\n")
    rotate = "rot = lambda t: torch.cat((-t[..., 32:], t[..., :32]), -1)\nq = q * c + rot(q) * s\nk = k * c + rot(k) * s\n"
    end = "return o.transpose(1, 2).reshape(1, 128, 256)"
    whole = "k, v = k.expand(1, 4, 128, 64), v.expand(1, 4, 128, 64)\n"
    attend = "o = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
    wide = heads + "q, k, v, c, s = q.float(), k.float(), v.float(), c.float(), s.float()\n" + rotate + whole
    reference = model(heads + rotate + whole + attend + end,
                      "[torch.randn(1, 128, 256).bfloat16(), torch.randn(128, 64).bfloat16(), torch.randn(128, 64).bfloat16()]", init, "x, c, s")
    return reference, both(
        ("in_float32", wide + attend + end + ".bfloat16()", "passed"),
        ("rounded_once", wide + "q, k, v = q.bfloat16().float(), k.bfloat16().float(), v.float()\n" + attend + end + ".bfloat16()", "passed"),
        ("not_causal", wide + attend.replace("True", "False") + end + ".bfloat16()", "wrong_values"),
        ("not_rotated", heads + whole + attend + end, "wrong_values"),
        ("another_scale", wide + "q = q * 1.1\n" + attend + end + ".bfloat16()", "wrong_values"),
        init=init, arguments="x, c, s",
    ), []


CASES: dict[str, tuple] = {
    "quantize_int8": int8_case(),
    "quantize_groups": groups_case(),
    "quantize_zero_point": zero_point_case(),
    "quantize_clamp": clamp_case(),
    "quantize_ties": ties_case(),
    "quantize_linear": linear_case(),
    "quantize_int4": packing_case(),
    "quantize_float8": float8_case(),
    "fake_quantize": fake_quantize_case(""),
    "fake_quantize_bfloat16": fake_quantize_case(".bfloat16()"),
    "comparison": comparison_case(),
    "relu_rows": relu_rows_case(),
    "attention_bfloat16": attention_case(),
}
