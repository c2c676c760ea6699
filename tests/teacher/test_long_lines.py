"""Statistics of lines that no program holds, made in pieces that are joined, against PyTorch."""

import pytest

import oracle

# Of the second line a whole piece is -inf; the third is far from zero.
FAR = "torch.stack([x[0], torch.where(torch.arange(40960) < 6000, float('-inf'), x[1]), x[2] + 3000])"
# name: (shapes of the inputs, body of f)
LINES = {
    "softmax": ("(3,40960)", f"(torch.softmax({FAR}, 1), torch.log_softmax({FAR}, 1), torch.logsumexp({FAR}, 1))"),
    "all_infinite": ("(2,40960)", "torch.logsumexp(x.masked_fill(x < 9, float('-inf')), 1)"),
    "short_and_infinite": ("(9,40)", "(torch.logsumexp(x.masked_fill(x[:, :1] < 0.3, float('-inf')), 1), torch.logsumexp(torch.where(x > 1, float('inf'), x), 1))"),
    "across": ("(2,40960,3)", "(torch.softmax(x, 1), x.var(1), torch.logsumexp(x, (1, 2)))"),
    "moments": ("(3,40960)", "(torch.var_mean(x + 3000, 1), (x + 3000).std(), x.var(1, correction=0, keepdim=True))"),
    "layer_norm": ("(2,8,70,60),(8,70,60),(8,70,60)", "F.layer_norm(x, (8, 70, 60), y, z)"),
    "group_norm": ("(2,6,120,100),(6,),(6,)", "F.group_norm(x + 5, 2, y, z)"),
    "instance_norm": ("(2,3,200,180)", "torch.relu(F.instance_norm(x))"),
    "batch_norm": ("(8,5,60,70),(5,),(5,)", "F.batch_norm(x, None, None, y, z, training=True)"),
    "small_places": ("(600,5,7,8),(5,)", "F.batch_norm(x, None, None, y, training=True)"),
    "permuted": ("(60,30,20,3)", "F.batch_norm(x.permute(0, 3, 1, 2), None, None, training=True)"),
    "cross_entropy": ("(3,40960)", "F.cross_entropy(x, x.argmin(1), label_smoothing=0.1)"),
    "no_dimension": ("(3,4)", "(torch.softmax(x.sum(), 0), torch.var_mean(x.sum(), dim=-1, correction=0), torch.logsumexp(x.sum(), -1))"),
    # Lengths that are prime numbers: pieces, and a rest.
    "prime": ("(3,40961)", "(x.sum(1), x.amax(1), x.amin(), x.argmax(1), x.flatten()[:40961].argmin(), torch.logsumexp(x, 1), x.prod(1))"),
    "prime_moments": ("(3,40961)", "(torch.var_mean(x + 3000, 1), torch.softmax(x, 1), F.layer_norm(x, (40961,)))"),
    "prime_and_infinite": ("(2,40961)", "torch.softmax(torch.where(torch.arange(40961) > 30000, float('-inf'), x), 1)"),
    "prime_across": ("(20011,3)", "(x.sum(0), x.var(0), F.batch_norm(x, None, None, training=True))"),
    "two_primes": ("(3001,1009)", "(x.sum(), x.var(), F.kl_div(x.log_softmax(1), x.softmax(1), reduction='batchmean'))"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_long_lines(name):
    shapes, body = LINES[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=3)


# Lines that answers to learn from walk along, or cut between dimensions.
WHOLE = {
    "softmax": LINES["softmax"],
    "group_norm": LINES["group_norm"],
    "batch_norm": LINES["batch_norm"],
    "sums": ("(9,8,60,70)", "(x.sum(), x.amax(), x.mean((0, 2, 3)), x.sum((0, 1)), x.var(), x.argmax())"),
    "scans": ("(5,4100,3)", "(x.cumsum(1), x.cumprod(1), torch.logcumsumexp(x, 1), x.flatten().cumsum(0))"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_long_lines_to_learn_from(name):
    shapes, body = WHOLE[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=3, simple=True)


def test_a_place_by_itself_is_a_product():
    # As small as products of parts can be.
    text = oracle.file_of("(2,64,65,66),(130,64,1,1),(130,)", "torch.relu(F.conv2d(x, y, z))")
    errors = oracle.check(text, "f", is_function=True, strict=True, count=2, with_first="b_high = b.to(tl.bfloat16)")
    assert list(errors)[0] == "products of bfloat16 parts"
