"""What products are only reduced to, against PyTorch: their tiles reduce it, the results are not stored."""

import pytest

import oracle

# name: (shapes of the inputs, body of f)
REDUCED = {
    "mean_of_columns": ("(70,40),(150,40),(150,)", "torch.relu(F.linear(x, y, z)).mean(-1)"),
    "over_rows": ("(5,30,40),(150,40)", "F.gelu(F.linear(x, y)).amax((0, 1))"),
    "logsumexp": ("(70,40),(40,150)", "(torch.logsumexp(x @ y, 1), torch.logsumexp(x @ y * 2, 0, keepdim=True))"),
    "logsumexp_of_one_tile": ("(70,40),(40,30)", "torch.logsumexp(x @ y, 1) * 2"),
    "logsumexp_of_masked": ("(70,40),(40,150)", "torch.logsumexp((x @ y).masked_fill(x[:, :1] * y[0] < 0.5, float('-inf')), 1)"),
    "average_pool": ("(3,5,17,19),(40,5,3,3)", "F.adaptive_avg_pool2d(torch.relu(F.conv2d(x, y, padding=1)), 1).flatten(1)"),
    "max_pool_of_all": ("(3,5,17,19),(40,5,3,3)", "F.max_pool2d(F.conv2d(x, y), (15, 17))"),
    "least_channel": ("(3,5,17,19),(90,5,3,3)", "torch.tanh(F.conv2d(x, y).amin(1, keepdim=True))"),
    "groups": ("(2,6,5,7,9),(20,3,3,3,3)", "F.conv3d(x, y, groups=2).clamp(0, 1).mean((2, 3, 4), keepdim=True)"),
    "of_everything": ("(3,5,17,19),(40,5,3,3)", "(torch.sigmoid(F.conv2d(x, y)).mean(), F.conv2d(x, y).sum((1, 2, 3)))"),
    "loss": ("(70,40),(150,40),(70,150)", "F.mse_loss(F.linear(x, y), z)"),
    "both_ways": ("(3,40,20),(3,20,70)", "((x @ y).amax(2).sum(1), (x @ y).amax(1).mean(1))"),
    "long_lines": ("(8,16),(16,33000)", "torch.logsumexp(x @ y * 3, 1)"),
    "of_nan": ("(70,40),(40,300)", "((x @ y + 9).log().amax(1), (x @ y + 9).log().amin(0), (x @ y + 9).log().max())"),
    "half": ("(70,40),(40,300)", "(torch.relu(x.half() @ y.half()).sum(1), (x.half() @ y.half()).amax(0))"),
    "stored_too": ("(70,40),(40,150)", "(x @ y, (x @ y).mean(1), (x @ y)[:, 3] * 2)"),
    "nearest_code": ("(70,40),(150,40)", "((x * x).sum(1, keepdim=True) - 2 * x @ y.t() + (y * y).sum(1)).argmin(1)"),
    "place_and_value": ("(3,40,20),(20,150)", "torch.max(x @ y, -1)"),
    "places_of_columns": ("(3,70,20),(3,20,45)", "((x @ y).argmax(1), (x @ y).argmin(-1, keepdim=True))"),
    "place_in_one_tile": ("(70,40),(40,30)", "(x @ y).argmax(1)"),
    "place_of_equal": ("(70,40),(40,150)", "torch.relu(x @ y - 60).argmax(1) + torch.zeros_like(x @ y).argmin(1)"),
    "triangle": ("(70,40),(40,130)", "torch.tril(x @ y).sum(-1)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCED)
def test_tile_reductions(name):
    shapes, body = REDUCED[name]
    text = oracle.file_of(shapes, body)
    assert oracle.check(text, "f", is_function=True, strict=True, count=3, with_first="keep_dims=")
