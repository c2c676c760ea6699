"""Factors of matrices against PyTorch, each by one kernel; answers to programs with larger ones: worker/tests, tests/e2e."""
import pytest

import oracle

# A matrix that is positive definite, and a batch of them.
POSITIVE = "(x @ x.mT + torch.eye(x.shape[-2]))"
# name: (shapes of the inputs, body of f)
FACTORS = {
    "cholesky": ("(37,37)", f"torch.linalg.cholesky_ex{POSITIVE}[0]"),
    "upper_cholesky": ("(2,3,12,12)", f"torch.linalg.cholesky_ex({POSITIVE}, upper=True)"),
    "lu": ("(2,9,9)", "torch.linalg.lu_factor_ex(x)[:2]"),
    "tall_lu": ("(40,6)", "torch.linalg.lu(x)"),
    "wide_lu": ("(3,5,11)", "torch.linalg.lu(x) + torch.linalg.lu_factor_ex(x)"),
    "column_of_zeros": ("(6,6)", "torch.linalg.lu_factor_ex(x * (torch.arange(6) != 2))[:2]"),
    "reflections": ("(2,20,7)", "torch.geqrf(x)"),
    "wide_reflections": ("(5,9)", "torch.geqrf(x)"),
    "nothing_to_reflect": ("(6,6)", "torch.geqrf(x.triu())"),
    "tiny_and_huge": ("(8,4)", "torch.geqrf(x * 10.0 ** (20.0 * torch.arange(4) - 30.0))"),
    "triangular": ("(2,18,18),(2,18,5)", "torch.linalg.solve_triangular(x + 4 * torch.eye(18), y, upper=False)"),
    "upper_triangular": ("(9,9),(4,9,70)", "torch.linalg.solve_triangular(x + 4 * torch.eye(9), y, upper=True)"),
    "from_the_right": ("(3,7,7),(3,2,7)", "torch.linalg.solve_triangular(x / 4, y, upper=True, left=False, unitriangular=True)"),
    "eigenvalues": ("(2,11,11)", "torch.ops.aten._linalg_eigh(x, 'L', False)[0], torch.ops.aten._linalg_eigh(x, 'U', False)[0]"),
    "singular_values": ("(3,13,6)", "torch.ops.aten._linalg_svd(x, False, False)[1]"),
    "of_low_rank": ("(12,3)", "torch.ops.aten._linalg_svd(x @ x.mT, False, False)[1]"),
    "put_together": ("(10,7)", "(lambda u, s, v, e, w: (u * s @ v, s, w * e @ w.mT, e))(*torch.ops.aten._linalg_svd(x), *torch.ops.aten._linalg_eigh(x.mT @ x))"),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORS)
def test_factors(name):
    shapes, body = FACTORS[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=4)
