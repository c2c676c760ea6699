"""Products of which a triangle is kept, against PyTorch: tiles of zeros are not multiplied."""

import pytest

import oracle

# name: (shapes of the inputs, body of f)
PRODUCTS = {
    "lower": ("(150,90),(90,170)", "torch.tril(x @ y)"),
    "upper_of_a_batch": ("(2,130,40),(2,40,190)", "torch.triu(torch.bmm(x, y) * 0.5, 7)"),
    "band": ("(200,40),(40,200)", "torch.triu(torch.tril(x @ y, 3), -30)"),
    "where": ("(200,40),(40,200),(200,)", "torch.where(torch.arange(200)[:, None] > torch.arange(200) + 20, torch.relu(x @ y + z), 0.0)"),
    "large": ("(400,700),(700,300)", "(x @ y).tril(-20)"),
    "of_columns_first": ("(150,90),(90,150)", "torch.tril(x @ y).t().contiguous()"),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_triangles(name):
    shapes, body = PRODUCTS[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=3)
