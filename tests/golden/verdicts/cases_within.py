"""Cases in which a few places decide within sums and products: what is rounded in front of a product, which elements are picked
(`JumpsWithin` in `src/verify/edges.h`), and sums whose terms cancel. Honest candidates round otherwise; the others are wrong by little."""

from __future__ import annotations

from templates import both, model

ROWS = "s = x.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127\n"
PRODUCT = "return q.float() @ w.t() * s"
ROUND = "q = torch.clamp(torch.round(x / s), -128, 127)\n"


def quantized_product_case() -> tuple:
    reference = model(ROWS + ROUND + PRODUCT, "[torch.randn(512, 256), torch.randint(-127, 128, (64, 256)).float()]", arguments="x, w")
    inverse = "a = x.abs().amax(-1, keepdim=True).clamp(min=1e-5)\ns = a * (1 / 127)\nq = torch.clamp(torch.round(x * (127 / a)), -128, 127)\n"
    return reference, both(
        ("reciprocal", inverse + PRODUCT, "passed"),
        ("truncated", ROWS + "q = torch.clamp(torch.trunc(x / s), -128, 127)\n" + PRODUCT, "wrong_values"),
        ("one_more_in_one_row", ROWS + ROUND + "q[9, 7] += 1\n" + PRODUCT, "wrong_values"),
        ("one_more_in_each_row", ROWS + ROUND + "q[:, 7] += 1\n" + PRODUCT, "wrong_values"),
        ("not_rounded", ROWS + "q = x / s\n" + PRODUCT, "wrong_values"),
        ("scale_in_bfloat16", ROWS + ROUND + "return q.float() @ w.t() * s.bfloat16().float()", "wrong_values", "half"),
        arguments="x, w",
    ), []


def count_case() -> tuple:
    reference = model("return ((x + 7000) - 7000 > 0.6).sum(1)", "[torch.randn(512, 512)]")
    return reference, both(
        ("by_another_way", "return ((x * 3 + 21000) - 21000 > 1.8).sum(1)", "passed"),
        ("in_float64", "return (x.double() > 0.6).sum(1)", "passed"),
        ("another_bound", "return (x > 0.65).sum(1)", "wrong_values"),
        ("one_less", "return (x > 0.6)[:, 1:].sum(1)", "wrong_values"),
    ), []


DIRECT = "((x[:, None] - y) ** 2).sum(-1).sqrt()"
SQUARES = "(x.square().sum(1)[:, None] + y.square().sum(1) - 2 * (x @ y.t())).clamp_min(0).sqrt()"
VOTES = "w = torch.exp(-d / 4)\nv = (torch.nn.functional.one_hot(l[i], 10).float() * w.unsqueeze(-1)).sum(1)\nreturn v / v.sum(1, keepdim=True)"


def nearest_case() -> tuple:
    pick = "d, i = {}.topk(8, 1, largest=False)\n"
    reference = model(pick.format("torch.cdist(x, y)") + VOTES,
                      "[torch.randn(64, 32), torch.randn(300, 32), torch.randint(0, 10, (300,))]", arguments="x, y, l")
    seven = "d, i = d[:, :7], i[:, :7]\n"
    return reference, both(
        ("squares", pick.format(SQUARES) + VOTES, "passed"),
        ("sorted", "d, i = " + SQUARES + ".sort(1)\nd, i = d[:, :8], i[:, :8]\n" + VOTES, "passed"),
        ("seven_nearest", pick.format(SQUARES) + seven + VOTES, "wrong_values"),
        ("farthest_of_nine", "d, i = " + SQUARES + ".topk(9, 1, largest=False)\nd, i = d[:, 1:], i[:, 1:]\n" + VOTES, "wrong_values"),
        ("another_temperature", pick.format(SQUARES) + VOTES.replace("/ 4", "/ 4.01"), "wrong_values"),
        ("picked_by_coarse_numbers", "_, i = " + SQUARES.replace("(x @ y.t())", "((x * 64).round() / 64 @ y.t())") + ".topk(8, 1, largest=False)\nd = " + DIRECT + ".gather(1, i)\n" + VOTES, "wrong_values"),
        ("another_in_one_row", pick.format(SQUARES) + "i[5, 7] = (i[5, 7] + 1) % 300\n" + VOTES, "wrong_values"),
        arguments="x, y, l",
    ), []


def shifted_mean_case() -> tuple:
    """Moved inputs do not show what the eager program's differences lose, and one run of it shows one number."""
    reference = model("return ((x + 700.3) - 700.3).mean()", "[torch.randn(64, 64)]")
    return reference, both(
        ("by_another_way", "return ((x + 700.7) - 700.7).mean()", "passed"),
        ("in_float64", "return x.double().mean().float()", "passed"),
        ("a_little_more", "return ((x + 700.301) - 700.3).mean()", "wrong_values"),
        ("one_left_out", "return ((x + 700.3) - 700.3).flatten()[1:].mean()", "wrong_values"),
    ), []


def pole_case() -> tuple:
    """Few numbers lie so near a pole that rounding says what becomes of them."""
    end = "return 1 / (y * y + 1e-9)"
    reference = model("y = (x + 7.3) - 7.3 - 0.3\n" + end, "[torch.randn(512, 512)]")
    return reference, both(
        ("by_another_way", "y = (x + 9.3) - 9.3 - 0.3\n" + end, "passed"),
        ("another_pole", "y = x - 0.30001\n" + end, "wrong_values"),
        ("few_elements_zero", "y = x - 0.3\n" + end.replace("return ", "z = ") + "\nz[17, 100:104] = 0\nreturn z", "wrong_values"),
        ("few_elements_a_little_more", "y = x - 0.3\n" + end.replace("return ", "z = ") + "\nz[17, 100:104] *= 1.001\nreturn z", "wrong_values"),
        ("another_height", "y = x - 0.3\n" + end.replace("1e-9", "1.1e-9"), "wrong_values"),
        ("without_poles", "y = x - 0.3\n" + end.replace("y * y", "torch.clamp(y * y, min=1e-7)"), "wrong_values"),
    ), []


def telescope_case() -> tuple:
    start = "a = 1 - torch.exp(-torch.relu(x) * (z[:, 1:] - z[:, :-1]))\nf = 1 - a\n"
    end = "w = a * torch.cat([torch.ones_like(t[:, :1]), t[:, :-1]], 1)\nreturn w.sum(1)"
    reference = model(start + "t = torch.cumprod(f, 1)\n" + end,
                      "[torch.randn(64, 32), torch.linspace(2, 6, 33).expand(64, 33) + 0.01 * torch.rand(64, 33)]", arguments="x, z")
    parts = "p = f.view(64, 4, 8).cumprod(2)\nb = torch.cumprod(p[..., -1], 1)\nb = torch.cat([torch.ones_like(b[:, :1]), b[:, :-1]], 1)\n"
    return reference, both(
        ("in_pieces", start + parts + "t = (p * b[..., None]).view(64, 32)\n" + end, "passed"),
        ("one_left_out", start + "t = torch.cumprod(f, 1)\n" + end.replace("w.sum", "w[:, :-1].sum"), "wrong_values"),
        ("inclusive", start + "t = torch.cumprod(f, 1)\nreturn (a * t).sum(1)", "wrong_values"),
        ("all_of_it", start + "return 0 * f.sum(1) + 1", "wrong_values"),
        arguments="x, z",
    ), []


CASES: dict[str, tuple] = {
    "quantized_product": quantized_product_case(),
    "count_above": count_case(),
    "nearest_votes": nearest_case(),
    "shifted_mean": shifted_mean_case(),
    "pole": pole_case(),
    "telescope": telescope_case(),
}
