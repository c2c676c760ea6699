"""Cases under autocast: weights and inputs are float32, and what products are given is rounded to bfloat16 on the way. Honest
candidates round elsewhere, or not at all."""

from __future__ import annotations

from templates import both, model

AUTOCAST = 'with torch.autocast("cuda", dtype=torch.bfloat16):\n'


def under_autocast(body: str) -> str:
    return AUTOCAST + "".join(f"    {line}\n" for line in body.strip().splitlines())


def attention_case() -> tuple:
    """Of scores that lie far apart one key takes all, and which one, where two are close, says a rounding in front of the product."""
    scores = "s = q @ k.transpose(1, 2) / 8 + torch.full((128, 128), -3e38, device=q.device).triu(1)\n"
    end = "return (F.softmax(s, dim=-1, dtype=torch.float32) @ v)"
    reference = model(under_autocast(scores + end), "[3 * torch.randn(8, 128, 64), torch.randn(8, 128, 64), torch.randn(8, 128, 64)]",
                      arguments="q, k, v")
    result = ".bfloat16()"
    return reference, both(
        ("in_float32", scores + end + result, "passed"),
        ("scaled_before", scores.replace("q @", "(q / 8).bfloat16().float() @").replace(" / 8 +", " +") + end + result, "passed"),
        ("not_causal", scores.replace(".triu(1)", " * 0") + end + result, "wrong_values"),
        ("window", scores + "s = s + torch.full((128, 128), -3e38, device=q.device).tril(-64)\n" + end + result, "wrong_values"),
        ("another_scale", scores.replace("/ 8", "/ 8.8") + end + result, "wrong_values"),
        ("one_key_takes_all", scores + "return ((s == s.amax(-1, keepdim=True)).float() @ v)" + result, "wrong_values"),
        arguments="q, k, v",
    ), []


def router_case() -> tuple:
    """Two of eight experts a row, by scores in bfloat16."""
    init = "self.gate = nn.Linear(64, 8, bias=False)\nself.experts = nn.Parameter(torch.randn(8, 64, 32) / 8)"
    gate = "p = F.softmax(self.gate(x).float(), -1)\nw, i = p.topk(2, -1)\n"
    end = "w = w / w.sum(-1, keepdim=True)\nc = torch.zeros_like(p).scatter(1, i, w)\nreturn torch.einsum('re,reo->ro', c, torch.einsum('rf,efo->reo', x, self.experts))"
    reference = model(under_autocast(gate + end), "[torch.randn(512, 64)]", init)
    result = ".bfloat16()"
    return reference, both(
        ("in_float32", gate + end + result, "passed"),
        ("inputs_rounded", "x = x.bfloat16().float()\n" + gate + end + result, "passed"),
        ("one_expert", gate + "w = w * torch.tensor([1.0, 0.0], device=x.device)\n" + end + result, "wrong_values"),
        ("not_normalised", gate + end.replace("w = w / w.sum(-1, keepdim=True)\n", "") + result, "wrong_values"),
        ("another_in_one_row", gate + "i[9, 1] = (i[9, 1] + 1) % 8\n" + end + result, "wrong_values"),
        ("picked_by_coarse_numbers", gate.replace("p.topk", "((p * 16).round() / 16).topk") + "w = p.gather(1, i)\n" + end + result, "wrong_values"),
        init=init,
    ), []


def mlp_case() -> tuple:
    init = "self.up = nn.Linear(96, 256)\nself.norm = nn.LayerNorm(256)\nself.down = nn.Linear(256, 96)"
    body = "return self.down(F.silu(self.norm(self.up(x))))"
    reference = model(under_autocast(body), "[torch.randn(64, 96)]", init)
    return reference, both(
        ("in_float32", body + ".bfloat16()", "passed"),
        ("rounded_after_each", body.replace("self.up(x)", "self.up(x).bfloat16().float()") + ".bfloat16()", "passed"),
        ("another_function", body.replace("silu", "gelu") + ".bfloat16()", "wrong_values"),
        ("no_norm", "return self.down(F.silu(self.up(x))).bfloat16()", "wrong_values"),
        ("one_row_a_little_more", "y = " + body[7:] + "\ny[7] *= 1.1\nreturn y.bfloat16()", "wrong_values"),
        init=init,
    ), []


CASES: dict[str, tuple] = {
    "attention_autocast": attention_case(),
    "router_autocast": router_case(),
    "mlp_autocast": mlp_case(),
}
