"""Cases of sums whose terms cancel. Honest candidates round otherwise; the others are wrong by little."""

from __future__ import annotations

from templates import model, torch_only

def both(*candidates: tuple, arguments: str = "x") -> list:
    return [torch_only(name, body, *verdict, arguments=arguments) for name, body, *verdict in candidates]


def shifted_mean_case() -> tuple:
    """Moved inputs do not show what the eager program's differences lose, and one run of it shows one number."""
    reference = model("return ((x + 700.3) - 700.3).mean()", "[torch.randn(64, 64)]")
    return reference, both(
        ("by_another_way", "return ((x + 700.7) - 700.7).mean()", "passed"),
        ("in_float64", "return x.double().mean().float()", "passed"),
        ("a_little_more", "return ((x + 700.301) - 700.3).mean()", "wrong_values"),
        ("one_left_out", "return ((x + 700.3) - 700.3).flatten()[1:].mean()", "wrong_values"),
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
    "shifted_mean": shifted_mean_case(),
    "telescope": telescope_case(),
}
