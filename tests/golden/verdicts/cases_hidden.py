"""Cases in which inputs hid what a candidate leaves out: they never held an empty line, or layers made large numbers small."""

from __future__ import annotations

from templates import both, model

def empty_lines_case() -> tuple:
    """Lines that are padding have no norm."""
    reference = model("return F.normalize(x, dim=1), F.layer_norm(x, (48,), eps=1e-12)", "[torch.randn(64, 48)]")
    centred = "d = x - x.mean(1, keepdim=True)\nv = d.square().mean(1, keepdim=True)\n"
    norm = "x.square().sum(1, keepdim=True)"
    return reference, both(
        ("by_hand", centred + f"return x / {norm}.sqrt().clamp_min(1e-12), d * torch.rsqrt(v + 1e-12)", "passed"),
        ("norm_of_nothing", centred + f"return x / {norm}.sqrt(), d * torch.rsqrt(v + 1e-12)", "wrong_values"),
        ("variance_of_nothing", centred + f"return x / {norm}.sqrt().clamp_min(1e-12), d * torch.rsqrt(v)", "wrong_values"),
    ), []


def masked_mean_case() -> tuple:
    body = "m = k.float()\nreturn (x * m.unsqueeze(-1)).sum(1) / m.sum(1, keepdim=True).clamp(min=1)"
    reference = model(body, "[torch.randn(16, 32, 16), torch.rand(16, 32) > 0.3]", arguments="x, k")
    return reference, both(
        ("of_zeros", "m = k.float()\nn = m.sum(1, keepdim=True)\nreturn torch.where(k[..., None], x, 0 * x).sum(1) / torch.where(n > 0, n, 1 + 0 * n)", "passed"),
        ("of_none", body.replace(".clamp(min=1)", ""), "wrong_values"),
        arguments="x, k",
    ), []


def classes_case() -> tuple:
    """Behind small weights `large` inputs are small again."""
    init = "self.a = nn.Linear(96, 64)\nself.b = nn.Linear(64, 10)"
    start = "h = self.b(torch.relu(self.a(x)))\n"
    reference = model(start + "return torch.softmax(h, -1)", "[torch.randn(64, 96)]", init)
    quotient = "return e / e.sum(-1, keepdim=True)"
    return reference, both(
        ("maximum", start + "e = torch.exp(h - h.amax(-1, keepdim=True))\n" + quotient, "passed"),
        ("no_maximum", start + "e = torch.exp(h)\n" + quotient, "wrong_values"),
        init=init,
    ), []


def stable_case() -> tuple:
    reference = model("return torch.sort(x, dim=1, stable=True)", "[(2 * torch.randn(16, 64)).round()]")
    return reference, both(
        ("ranks", "a, b = x[:, :, None], x[:, None, :]\np = torch.arange(64, device=x.device)\nr = ((a > b) | ((a == b) & (p[:, None] > p))).sum(2)\ni = r.argsort(dim=1)\nreturn x.gather(1, i), i", "passed"),
        ("last_of_ties", "i = 63 - torch.sort(x.flip(1), dim=1, stable=True)[1]\nreturn x.gather(1, i), i", "wrong_values"),
    ), []


def centred_case() -> tuple:
    """Without the mean nothing is left of equal numbers, which a convolution makes of an empty image."""
    init = "self.c = nn.Conv2d(8, 12, 3)"
    reference = model("h = self.c(x)\nreturn h - h.mean((2, 3), keepdim=True)", "[torch.rand(4, 8, 9, 13)]", init)
    start = "h = self.c(x)\nm = h.flatten(2).cumsum(2)[:, :, -1].mul(1 / 77)[:, :, None, None]\n"
    return reference, both(
        ("one_by_one", start + "return h - m", "passed"),
        ("almost", start + "return h - 0.9999 * m", "wrong_values"),
        init=init,
    ), []


def angles_case() -> tuple:
    """A thing's angle to itself has nearly all of the noise."""
    start = "n = F.normalize(F.layer_norm(x, (48,)), dim=1)\n"
    end = "return torch.acos((c * 0.999999).clamp(-1, 1))"
    tf32 = "def cut(y): return ((y.contiguous().view(torch.int32) + 4096) & -8192).view(torch.float32)\n"
    reference = model(start + "c = n @ n.t()\n" + end, "[torch.randn(96, 48)]")
    return reference, both(
        ("in_parts", start + "c = n[:, :16] @ n[:, :16].t() + n[:, 16:] @ n[:, 16:].t()\n" + end, "passed"),
        ("tf32", tf32 + start + "c = cut(n) @ cut(n).t()\n" + end, "wrong_values"),
    ), []


def pooled_norm_case() -> tuple:
    """The mean of equal numbers, added up one by one, is off by a unit, and a pool behind the norm does not average that out."""
    pool = "return F.avg_pool2d(n.unsqueeze(1), 3)"
    start = "y = x * 0.37 + 1.1\n"
    reference = model(start + "n = F.layer_norm(y, (48,))\n" + pool, "[torch.randn(6, 30, 48)]")
    mean = "m = y[..., 0]\nfor i in range(1, 48): m = m + y[..., i]\nd = y - (m / 48).unsqueeze(-1)\n"
    norm = "n = d * torch.rsqrt(d.square().mean(-1, keepdim=True) + 1e-5)\n"
    return reference, both(
        ("one_by_one", start + mean + norm + pool, "passed"),
        ("epsilon_left_out", start + mean + norm.replace(" + 1e-5", " + 1e-6") + pool, "wrong_values"),
        ("mean_of_most", start + "d = y - y[..., :47].mean(-1, keepdim=True)\n" + norm + pool, "wrong_values"),
    ), []


CASES: dict[str, tuple] = {
    "empty_lines": empty_lines_case(),
    "masked_mean": masked_mean_case(),
    "classes": classes_case(),
    "stable_sort": stable_case(),
    "centred": centred_case(),
    "angles": angles_case(),
    "pooled_norm": pooled_norm_case(),
}
