"""Strict answers to factors of matrices: what one kernel holds, what is cut into blocks, what rotations find."""

import pytest

# name: (the result, the input)
PROGRAMS = {
    "cholesky": ("torch.linalg.cholesky(x @ x.mT / 64 + torch.eye(64, device=x.device))", "64, 64"),
    "cholesky_in_blocks": ("torch.linalg.cholesky(x @ x.mT / 150 + torch.eye(150, device=x.device))", "150, 150"),
    "solve": ("torch.linalg.solve(x, x[:, :, :3].tanh())", "2, 40, 40"),
    "solve_in_blocks": ("torch.linalg.solve(x, x[:, 0].tanh())", "140, 140"),
    "determinant": ("torch.linalg.slogdet(x)", "50, 50"),
    "pivots": ("torch.linalg.lu_solve(*torch.linalg.lu_factor(x), x[:, :4].contiguous())", "40, 40"),
    "reflections": ("torch.linalg.qr(x)", "60, 40"),
    "least_squares": ("torch.linalg.lstsq(x, x[:, :2].tanh()).solution", "70, 35"),
    "eigenvalues": ("torch.linalg.eigvalsh(x + x.mT)", "2, 15, 15"),
    "by_eigenvectors": ("(lambda e, v: v * e.relu() @ v.mT)(*torch.linalg.eigh(x + x.mT))", "16, 16"),
    "matrix_norms": ("torch.linalg.matrix_norm(x, 2), torch.linalg.matrix_norm(x, -2), torch.linalg.matrix_norm(x, 'nuc')", "12, 20"),
    "rank_and_condition": ("torch.linalg.matrix_rank(x[:, :5] @ x[:, :5].mT), torch.linalg.cond(x)", "12, 12"),
    "pseudo_inverse": ("torch.linalg.pinv(x)", "12, 20"),
}  # fmt: skip
SOURCE = """import torch
def fn(x):
    return {}
def get_inputs():
    return [torch.randn({})]
"""


def convert(tritogen, tmp_path, name_of_result, sizes):
    (tmp_path / "f.py").write_text(SOURCE.format(name_of_result, sizes))
    arguments = ["--function", "fn", "--strict", "--proposer", "teacher", "--device", "cpu", "-n", "1", "--seed", "7"]
    return tritogen("convert", "f.py", *arguments)


@pytest.mark.parametrize("name", PROGRAMS)
def test_linear_algebra_in_kernels(tritogen, tmp_path, name):
    done = convert(tritogen, tmp_path, *PROGRAMS[name])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrote " in done.stdout


def test_signs_of_eigenvectors_are_open(tritogen, tmp_path):
    """PyTorch promises none, so an answer that has others is refused."""
    done = convert(tritogen, tmp_path, "torch.linalg.eigh(x + x.mT)", "12, 12")
    assert done.returncode == 1 and "wrong_values" in done.stdout
