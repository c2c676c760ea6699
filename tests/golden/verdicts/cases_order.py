"""Cases in which PyTorch leaves an order open: where equal values come, and whether partial results leave the range of float32 on their
way. Honest candidates take another order than eager PyTorch on a CPU; the others leave something out."""

from __future__ import annotations

from templates import model, torch_only


def cummax_case() -> tuple:
    reference = model("return torch.cummax(torch.sigmoid(x), dim=1).indices", "[torch.randn(8, 40)]")
    value = "y = torch.sigmoid(x)\nm = torch.cummax(y, dim=1).values\nr = y[:, None, :] == m[:, :, None]\n"
    return reference, [
        torch_only("first_of_ties", value + "return r.int().argmax(2)", "passed"),
        torch_only("of_all", "return x.argmax(1, keepdim=True).repeat(1, 40)", "wrong_values"),
        torch_only("cummin", "return torch.cummin(x, dim=1).indices", "wrong_values"),
        torch_only("one_late", "return torch.cummax(x, dim=1).indices.roll(-1, 1)", "wrong_values"),
    ], []


def product_case() -> tuple:
    reference = model("return torch.prod(x)", "[1 + 0.3 * torch.randn(40, 30)]")
    return reference, [
        torch_only("columns_first", "return x.prod(0).prod()", "passed"),
        torch_only("in_eighths", "return x.reshape(150, 8).prod(0).prod()", "passed"),
        torch_only("one_left_out", "return x.flatten()[1:].prod()", "wrong_values"),
        torch_only("zeros", "return x.sum() * 0", "wrong_values"),
    ], []


def deviation_case() -> tuple:
    reference = model("return torch.std(torch.expm1(x), dim=1)", "[torch.randn(16, 64)]")
    squares = "e = torch.expm1(x)\nd = e - e.mean(1, keepdim=True)\n"
    return reference, [
        torch_only("sum_of_squares", squares + "return torch.sqrt((d * d).sum(1) / 63)", "passed"),
        torch_only("uncorrected", squares + "return torch.sqrt((d * d).sum(1) / 64)", "wrong_values"),
    ], []


def argsort_of_roots_case() -> tuple:
    reference = model("return torch.argsort(torch.sqrt(x), dim=1)", "[torch.rand(16, 48)]")
    return reference, [
        torch_only("last_of_ties", "return 47 - torch.sqrt(x).flip(1).argsort(dim=1)", "passed"),
        torch_only("descending", "return torch.argsort(x, dim=1, descending=True)", "wrong_values"),
        torch_only("as_they_are", "return torch.arange(48, device=x.device).repeat(16, 1) + (x * 0).long()", "wrong_values"),
    ], []


CASES: dict[str, tuple] = {
    "cummax": cummax_case(),
    "prod": product_case(),
    "std_of_expm1": deviation_case(),
    "argsort_of_roots": argsort_of_roots_case(),
}
