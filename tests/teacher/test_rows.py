"""Kernels over rows that become one, what is left to other lines, and lines across memory, against PyTorch."""

import pytest

import oracle

# name: (shapes of the inputs, body of f)
LINES = {
    "kl_div": ("(300,700),(300,700)", "F.kl_div(x.log_softmax(1), y.softmax(1), reduction='batchmean')"),
    "symmetric_kl": ("(9,70),(9,70)", "(lambda p, q: (p.exp() * (p - q)).sum(1) + (q.exp() * (q - p)).sum(1))(x.log_softmax(1), y.log_softmax(1))"),
    "cosine_across": ("(3,90,70),(3,90,70)", "(1 - F.cosine_similarity(x, y, dim=1)).mean()"),
    "two_batch_norms": ("(4,6,7,5),(4,6,7,5)", "torch.relu(F.batch_norm(x, None, None, training=True) + F.batch_norm(y, None, None, training=True))"),
    "three_norms": ("(20,96),(20,96)", "(F.layer_norm(x, (96,)) * F.rms_norm(y, (96,)), F.layer_norm(x, (96,)).sum(0))"),
    "walked_twins": ("(3,40000),(3,40000)", "x / x.abs().mean(1, keepdim=True) * (y / y.norm(dim=1, keepdim=True))"),
    "made_elsewhere": ("(40,50)", "(x.mean(1), (x.abs() ** 1.5 + x.mean(1, keepdim=True)).sum(0))"),
    "sum_of_lines": ("(70,9000)", "x.softmax(1).square().sum(), (x - x.mean(1, keepdim=True)).abs().mean()"),
    "transposed_softmax": ("(90,200)", "(x.t().softmax(1), x.t().cumsum(1), x.t().argmax(1))"),
    "both_orders": ("(2,70,70),(2,70)", "(torch.einsum('bij,bj->bi', x, y), torch.einsum('bij,bi->bj', x, y))"),
    "transposed_cross_entropy": ("(600,300)", "F.cross_entropy(x, x.argmin(1)) + F.cross_entropy(x.t(), x.argmin(0))"),
    "scans_across": ("(2,600,3)", "(x.cumsum(1), x.flip(1).cumsum(1).flip(1), x.cummax(1), (x > 0).cumsum(1), x.softmax(1).cumsum(1).amax(1))"),
    "sorts_across": ("(2,300,3)", "(x.sort(1).values.cumsum(1), x.argsort(1))"),
    "residual_of_a_product": ("(70,40),(40,90),(90,70)", "(z + (x @ y).t(), torch.relu(z * 2 + (x @ y).t()).sum(1))"),
    "residual_channels_last": ("(2,20,6,7),(20,20)", "x + torch.sigmoid(F.linear(x.permute(0, 2, 3, 1), y)).permute(0, 3, 1, 2)"),
    "normalised_product": ("(70,40),(40,90)", "(F.normalize(x @ y, dim=1), F.normalize(F.normalize(x @ y * 0.5, dim=1).flatten(), dim=0))"),
    "summed_rows": ("(203,60)", "(x.softmax(1).amax(1).mean(), x.logsumexp(1).sum() + (x.sum(1) * 0 + 2).sum(), x.amax(1) - x.amax(1).mean())"),
    "summed_lines": ("(3,5,16,12)", "(x.softmax(1).amax(1).sum((1, 2)), x.argmax(1).float().mean())"),
    "short_cross_entropy": ("(203,7),(7,203),(7,)", "F.cross_entropy(x, x.argmin(1), z.abs(), ignore_index=3) + F.cross_entropy(y.t(), y.argmax(0), label_smoothing=0.1)"),
    "not_zero": ("(5,9)", "(torch.linalg.vector_norm(torch.relu(x), 0, 1), torch.relu(x).norm(p=0), torch.linalg.vector_norm(x, 2.5, (0, 1)))"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_lines(name):
    shapes, body = LINES[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=3)
