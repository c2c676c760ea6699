"""Every candidate of the teacher, for a table of small programs, against PyTorch. Needs TEACH_FILE (the binary)."""

import pytest
import torch

import oracle

# name: (shapes of the inputs, body of f)
POINTWISE = {
    "chain": ("(3,37)", "torch.tanh(x * 2 + 1).abs().sqrt() - torch.exp(-x)"),
    "activations": ("(5,33)", "F.relu(x) + F.gelu(x) + F.gelu(x, approximate='tanh') + F.silu(x) + torch.sigmoid(x)"),
    "more_activations": ("(5,33)", "F.leaky_relu(x, 0.2) + F.elu(x) + F.selu(x) + F.softplus(x, 2, 3) + F.mish(x)"),
    "hard_activations": ("(5,33)", "F.hardswish(4 * x) + F.hardsigmoid(4 * x) + F.hardtanh(x) + F.relu6(9 * x) + x.clamp(min=-0.5)"),
    "sign_of_nan": ("(5,33)", "torch.sign(torch.log(x)) + torch.sign(-0.0 * x)"),
    "broadcast": ("(4,1,6),(5,1),(6,)", "x * y + z"),
    "transposed": ("(6,7),(7,6)", "x + y.t() * 2"),
    "where": ("(9,9),(9,9)", "torch.where(x > y, x, y * 2).masked_fill(x < -1, 3.0)"),
    "ternary": ("(40,),(40,),(40,)", "torch.addcmul(x, y, z, value=0.5) + torch.lerp(x, y, 0.3)"),
    "powers": ("(33,)", "x ** 2 + x ** 3 + (x.abs() + 1) ** 0.5 + (x.abs() + 1) ** -1.7 + 2 - x"),
    "maximum": ("(33,),(33,)", "torch.maximum(x, y) - torch.minimum(x, y) * x.neg().rsqrt().isnan()"),
    "clamps_by_tensors": ("(5,33),(33,)", "(x.clamp(y, -y), x.clamp(max=y.log()), torch.clamp_min(x, y.log()), torch.clamp_max(x.log(), y).isnan())"),
    "casts": ("(65,)", "(x * 3).to(torch.int32).to(torch.float32) + x.half().float()"),
    "compare": ("(65,)", "((x > 0) & ~(x > 1)) | (x < -1)"),
    "long_sums_of_few_tiles": ("(4,1200),(1200,6),(5,32,6,6)", "(torch.relu(x @ y), F.conv2d(z, z, padding=2), x.half() @ y.half())"),
    "concatenate_many": ("(2,3),(2,2)", "(torch.cat([x, y, x.relu(), y * 2] * 5, 1), torch.stack([x[0] + i for i in range(70)]))"),
    "concatenate": ("(4,6),(4,3)", "torch.cat([x * 2, y + 1, x], 1).relu()"),
    "parts_placed_by_the_row": ("(4,16),(4,16),(1,24)", "(torch.stack([x.flip(1), y], -1).logsumexp(-1), torch.cat([z, z[:, :1].flip(1)], 1).sum(1))"),
    "concatenate_nothing": ("(2,3,4),(3,4)", "(torch.cat([x[:, :0], x * 2, x[:, 3:].exp()], 1), torch.cat([torch.zeros(0), y], 1), torch.cat([y[:0], y[:0].relu(), y]) + 1)"),
    "triangle": ("(2,9,9)", "torch.tril(x, 1) + torch.triu(x, 2) * 3"),
    "triangle_of_a_mask": ("(9,9)", "x.masked_fill(~torch.tril(x > -1), 0.5)"),
    "integers": ("(65,)", "((9 * x).long() % 4, torch.div((9 * x).long(), 4, rounding_mode='floor'), torch.div((9 * x).long(), 4, rounding_mode='trunc'))"),
    "integer_powers": ("(65,)", "((9 * x).long() ** 3, 2 ** (9 * x).long(), 3 ** (3 * x).int().abs())"),
    "shifts": ("(65,)", "(torch.bitwise_right_shift((90 * x).int(), 2), torch.bitwise_left_shift((9 * x).long(), 3))"),
    "special": ("(65,)", "torch.lgamma(x.abs() + 0.1) + torch.erfinv(x.tanh() * 0.9)"),
    "side_by_side": ("(33,7),(1030,),(5,6)", "(torch.relu(x), torch.exp(y - 1e-05), torch.exp(z.t() - 1e-06), x.flip(1), z.flip(1), z[:, 1:4].t() * 2)"),
    "views": ("(4,6)", "(x.view(2, 2, 6) * 2).transpose(0, 2).reshape(24) + 1"),
}
ROWS = {
    "softmax": ("(5,70)", "torch.softmax(x * 0.3, -1)"),
    "softmax_middle": ("(3,10,6)", "torch.softmax(x, 1)"),
    "log_softmax": ("(5,64)", "torch.log_softmax(x, 1) * 2"),
    "sums": ("(4,5,6)", "(x.sum(-1), x.sum(1), x.sum((0, 2)), x.sum(), x.mean(0, keepdim=True))"),
    "extrema": ("(4,5,6)", "(x.amax(-1), x.amin(1), x.max(), x.max(1).values, x.min(2).indices, x.argmax(), x.argmax(0))"),
    "spread": ("(7,40)", "(x.var(1), x.std(0), x.var(1, unbiased=False, keepdim=True))"),
    "norms": ("(7,40)", "(x.norm(), torch.linalg.vector_norm(x, dim=1, keepdim=True), x.norm(p=1, dim=0))"),
    "more_norms": ("(7,40)", "(torch.linalg.vector_norm(x, 3, dim=1), torch.linalg.vector_norm(x, 0.5))"),
    "normalize": ("(7,40)", "x / x.norm(dim=1, keepdim=True)"),
    "logsumexp": ("(7,40)", "torch.logsumexp(x, 1)"),
    "layer_norm": ("(2,5,48),(48,),(48,)", "F.layer_norm(x * 2, (48,), y, z)"),
    "layer_norm_2d": ("(3,6,8)", "F.layer_norm(x, (6, 8)) + 1"),
    "rms_norm": ("(6,48),(48,)", "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * y"),
    "group_norm": ("(2,6,5,4),(6,),(6,)", "F.group_norm(x, 3, y, z)"),
    "instance_norm": ("(2,6,5,4)", "F.instance_norm(x)"),
    "losses": ("(6,10),(6,10)", "(F.mse_loss(x, y), F.l1_loss(x, y, reduction='sum'), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.5))"),
    "long_sum": ("(300,128)", "(x * x).mean()"),
    "truth": ("(5,9)", "((x > 1).any(1), (x > -9).all())"),
    "product": ("(5,9)", "x.prod(1)"),
}
# Rows too long for one step of a walk, and columns that are not neighbours in memory.
LONG = {
    "softmax": ("(3,1100)", "torch.softmax(x, -1)"),
    "layer_norm": ("(3,1100),(1100,),(1100,)", "F.layer_norm(x, (1100,), y, z)"),
    "extrema": ("(3,1100)", "(x.argmax(1), x.min(1).values, x.min(1).indices, (x * 0).argmax(1))"),
    "extrema_of_nan": ("(3,70)", "((x * 1e-9).log().argmax(1), (x / 0 * 0).max(0).indices, (x - x / 0).min(1).indices)"),
    "multiples_divided": ("(33,65)", "(((x * 20).round() * 0.2) % 0.2, torch.div((x * 20).round() * 0.2, 0.2, rounding_mode='floor'), torch.div(x / 0, 2, rounding_mode='floor').isnan())"),
    "extrema_that_are_nan": ("(3,70)", "(x.log().amax(1), x.log().amin(0), (x + 1).log().max(1).values, (x + 3).log().max(), torch.linalg.vector_norm((x + 1).log(), float('inf'), 1))"),
    "extrema_of_long_lines_that_are_nan": ("(2,70000)", "((x + 4).log().amax(1), (x + 9).log().amin(1), (x[:, :3000] + 3.5).log().amax(0))"),
    "pools_that_are_nan": ("(2,3,31)", "(F.max_pool1d((x + 1).log(), 4, 3, 2, 2), F.adaptive_max_pool1d((x + 1).log(), 5), F.max_pool1d((x + 1).log(), 4, padding=2).isnan())"),
    "places_in_pieces": ("(2,16384)", "(x.argmin(1), x.max(1))"),
    "places_across": ("(2,8192,3)", "(x.argmax(1), x.min(1).indices, (x > 9).any(1))"),
    "pieces_of_several_dimensions": ("(330,2,50)", "(x.amax((0, 2)), x.var((0, 2)), x.argmax())"),
    "one_of_topk": ("(5,60)", "(*torch.topk(x, 1, 1), *torch.topk(x, 1, 0, largest=False))"),
    "down_columns": ("(2,300,70)", "(x.sum(1), x.argmin(1), torch.softmax(x, 1))"),
    "over_channels": ("(40,3,70)", "(x.mean((0, 2)), x.var((0, 2)))"),
    "product": ("(2,700)", "(x * 0.01 + 1).prod(1)"),
}
PRODUCTS = {
    "mm": ("(33,20),(20,40)", "x @ y"),
    "few_columns": ("(33,40),(5,40),(5,)", "(F.relu(F.linear(x, y, z)), x[:4] @ y.t() + z)"),
    "truncated": ("(64,),(64,)", "torch.div((x * 7).round(), (y * 3).round() + 0.5, rounding_mode='trunc')"),
    "mm_transposed": ("(20,33),(40,20)", "x.t() @ y.t()"),
    "linear": ("(2,17,20),(24,20),(24,)", "F.gelu(F.linear(x, y, z))"),
    "bmm": ("(3,17,20),(3,20,18)", "torch.bmm(x, y) * 0.5"),
    "matmul_broadcast": ("(2,3,17,20),(20,18)", "torch.relu(x @ y)"),
    "heads": ("(2,3,17,16),(2,3,18,16)", "torch.matmul(x, y.transpose(-1, -2)) + 1"),
    "read_twice": ("(32,32)", "F.mse_loss(x.contiguous(), x * 2, reduction='none') @ x"),
    "residual": ("(32,32),(32,32)", "x + torch.relu(x @ y)"),
    "vector": ("(33,20),(20,)", "torch.mv(x, y) + torch.matmul(x, y)"),
    "baddbmm": ("(3,4,6),(3,4,5),(3,5,6)", "torch.baddbmm(x, y, z, beta=0.5, alpha=2)"),
    "masked_attention": ("(1,2,17,16),(1,2,17,16),(17,17)", "F.scaled_dot_product_attention(x, y, y, attn_mask=(z > 0) & (z < 1))"),
    "attention_of_nothing": ("(1,2,17,16),(1,2,17,16),(17,17)", "F.scaled_dot_product_attention(x, y, y, attn_mask=(z > 0) & (z[:, :1] > 0))"),
    "grouped_attention": ("(2,6,9,16),(2,2,9,16),(2,1,9,9)", "F.scaled_dot_product_attention(x, y, y, attn_mask=z, enable_gqa=True)"),
    "grouped_heads_with_masks": ("(2,6,9,16),(2,2,9,16),(6,9,9)", "F.scaled_dot_product_attention(x, y, y, attn_mask=z > 0, enable_gqa=True)"),
    "integers": ("(5,9),(9,7)", "((4 * x).int() @ (4 * y).int(), (4 * x).long() @ (4 * y[:, 0]).long())"),
    "attention": ("(1,2,17,16),(1,2,17,16),(1,2,17,16)", "F.scaled_dot_product_attention(x, y, z, is_causal=True)"),
    "product_softmax": ("(20,16),(16,24)", "torch.softmax(x @ y, 1)"),
}
# Reads at computed places, and what is made of them.
INDEXED = {
    "padded_windows": ("(2,3,7,9)", "F.pad(x, (1, 1, 2, 1))[:, :, (torch.arange(3) * 2)[:, None] + torch.arange(6)]"),
    "padded_and_rolled": ("(3,5,40)", "torch.roll(F.pad(x, (2, 3), value=1.5), (1, 7), (1, 2)).flip(0)"),
    "padded_twice": ("(3,5,40)", "F.pad(F.pad(x, (2, 3), value=1.5)[..., None, :].expand(-1, -1, 2, -1), (1, 1, 1, 1), value=-2.0)"),
    "moves": ("(3,5)", "x.flip(1) + x.roll(2, 1) + x.roll((1, -1), (0, 1)) + (x + x).flip((0, 1))"),
    "pads": ("(2,5,6)", "(F.pad(x, (1, 2), value=0.5), F.pad(x, (2, 1), mode='reflect'), F.pad(x, (1, 0), mode='replicate'), F.pad(x, (-1, 1)))"),
    "repeats": ("(3,4)", "(x.repeat(2, 1, 3), x.repeat_interleave(2, 1), x.repeat_interleave(3))"),
    "shuffle": ("(2,8,3,4)", "(F.pixel_shuffle(x, 2), F.pixel_unshuffle(x[:, :, :2], 2))"),
    "written": ("(5,6),(2,6)", "(torch.slice_scatter(x, y, 0, 1, 5, 2), torch.select_scatter(x, y[1], 0, 3))"),
    "by_tensor": ("(5,6),(4,)", "(x[(y > 0).long()], x.index_select(1, (y < 0).long()), x.gather(1, (x > 0).long()))"),
    "by_computed_tensor": ("(4,12)", "x.index_select(1, ((torch.arange(5) * 2)[:, None] + torch.arange(4)).reshape(-1)).view(4, 5, 4) * 2"),
    "apart": ("(3,4,5),(2,)", "(x[:, (y > 0).long(), 1], x[(y > 0).long(), :, (y > 9).long()])"),
    "by_places_in_bounds": (
        "(5,6),(4,3)",
        "(x[torch.arange(4)[:, None], torch.where((y * 9).floor().abs() < 6, (y * 9).floor(), -1.0).long()],"
        " x[(y * 9).long() % 5, (y * 9).long().clamp(-2, 3)], x[torch.arange(4, -1, -1), torch.arange(5) - 3])",
    ),
    # 1e12: what is far outside is no int32, and NaN is nowhere.
    "sampled": (
        "(2,4,5),(2,3,2)",
        "tuple((lambda f, g, on: torch.where(on, x[torch.arange(2)[:, None], torch.where(on, g, 0.0).long(), torch.where(on, f.long(), 0)], 0.0))"
        "(f, g, (f >= 0) & (f < 5) & ((g >= 0) & (g < 4))) for f, g in [((y[..., 0] * s + 2).floor(), (y[..., 1] * s / (y[..., :1, 0] > 0) + 2).floor()) for s in (2, 1e12)])",
    ),
    "embedding": ("(7,6),(2,3)", "F.embedding((y > 0).long() * 5, x)"),
    "gathered_and_joined": ("(5,6),(2,6)", "torch.cat([x.index_select(0, (y[0] > 0).long()), y])"),
    "one_element_joined": ("(1,70),(70,)", "torch.cat([torch.mv(x, y), y])"),
    "scatters": ("(4,6),(4,3)", "(x.scatter(1, (y > 0).long() * 2, y), x.scatter_add(1, (y > 0).long(), y), x.scatter(1, (y > 0).long(), 2.0))"),
    "entries_meet": (
        "(5,6),(4,6)",
        "tuple(x.scatter_reduce(0, (y > 0).long() * 3, y, r, include_self=s) for r in ('sum', 'mean', 'prod', 'amax', 'amin') for s in (True, False))",
    ),
    "pools": ("(2,3,9,8)", "(F.max_pool2d(F.relu(x), 3, 2, 1), F.avg_pool2d(x, 2, 2, 1), F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False))"),
    "between_neighbours": (
        "(1,2,70,4),(1,1,30,5,4)",
        "(F.interpolate(x, (3, 4), mode='bicubic', align_corners=True), F.interpolate(x, (7, 9), mode='bicubic'), F.interpolate(x, (150, 1), mode='bilinear', align_corners=True),"
        " F.interpolate(x[:, :, :9], scale_factor=1.3, mode='bilinear'), F.interpolate(y, (7, 8, 9), mode='trilinear', align_corners=True), F.interpolate(y, scale_factor=2, mode='trilinear'))",
    ),
    "adaptive": ("(2,3,9)", "F.adaptive_max_pool1d(x, 4, return_indices=True)"),
    "indices": ("(1,2,7,9)", "F.max_pool2d(x, 3, 2, 1, 1, return_indices=True)"),
    "nearest": ("(2,2,5,4)", "F.interpolate(x, size=(7, 9)) + F.interpolate(x, size=(7, 9), mode='bilinear')"),
    "nearest_then_glu": ("(2,3,5,3)", "F.glu(F.interpolate(x, size=(6, 2)), 3)"),
    "cubic": ("(1,2,5,4)", "F.interpolate(x, scale_factor=2, mode='bicubic', align_corners=True)"),
    "conv": ("(2,4,9),(6,2,3),(6,)", "F.conv1d(x, y, z, stride=2, padding=1, groups=2).relu()"),
    "conv2d": ("(2,3,7,8),(4,3,3,2)", "F.conv2d(x, y, stride=(2, 1), dilation=(1, 2), padding=1)"),
    "depthwise": ("(2,3,7,8),(3,1,3,3),(3,)", "F.conv2d(x, y, z, groups=3, padding=1)"),
    "conv_one_pixel": ("(2,1,2,4),(24,1,2,2),(24,)", "F.conv2d(x, y, z, stride=(3, 2), padding=(1, 0), dilation=2) - x"),
    "conv_one_pixel_transposed": ("(2,2,1,1),(2,24,1,1)", "torch.maximum(F.conv_transpose2d(x, y, stride=(2, 3)), y)"),
    "transposed": ("(2,4,5,4),(4,3,3,2),(6,)", "F.conv_transpose2d(x, y, z, stride=2, padding=1, output_padding=1, groups=2)"),
    "scans": ("(3,7,5)", "(x.cumsum(1), x.cumprod(2), torch.cummax(x, 1), torch.cummin(x, 0), (x * 2).cumsum(-1).exp())"),
    "zero_times_what_overflows": ("(2,300),(1,)", "((x > -9).float().cumsum(1) - 1).cumprod(1)"),
    "zero_times_infinity": ("(2,30)", "torch.where(x > 1, 1 / F.relu(-x), F.relu(x)).cumprod(1)"),
    "long_scan": ("(2,5000)", "x.cumsum(1) * 0.01"),
    "walked_scans": ("(264,4100)", "(x.cumsum(1) * 0.01, (x * 2).flip(1).cumsum(1).flip(1))"),
    "created": ("(4,4)", "(x + torch.eye(4), torch.arange(3, 9, 2), torch.full((2, 3), 1.5), torch.linspace(0, 1, 7), torch.zeros_like(x))"),
    "only_views": ("(4,6)", "(x.t(), x.reshape(3, 8), x[1:, ::2])"),
    "more_losses": ("(6,10),(6,10)", "(F.kl_div(x, y.abs() + 0.1), F.binary_cross_entropy_with_logits(x, y.sigmoid()), F.cosine_similarity(x, y))"),
    "hinge": ("(6,10),(6,10)", "F.hinge_embedding_loss(x, y.sign()) + F.hinge_embedding_loss(x, y.sign(), margin=0.5, reduction='sum')"),
    "triplet": ("(6,10),(6,10),(6,10)", "F.triplet_margin_loss(x, y, z, swap=True) + F.cross_entropy(x, y.softmax(1))"),
    "weighted_probabilities": ("(6,5,3),(6,5,3),(5,)", "F.cross_entropy(x, y.softmax(1), weight=z.abs(), label_smoothing=0.1)"),
    "one_line": ("(7,)", "F.cross_entropy(x, (x[0] * 0).long() + 3) + F.nll_loss(x.log_softmax(0), (x[1] > 0).long())"),
    "float64_lines": ("(7,)", "torch.logspace(-1, 1, 7) * x + torch.linspace(0, 1, 7, dtype=torch.float64).float()"),
    "gated": ("(4,6),(3,)", "(F.glu(x), torch.outer(y, y), F.prelu(x[:, :3], y), torch.logsumexp(x, (0, 1)))"),
}
HYBRID = {
    "random": ("(4,16)", "torch.relu(x) + torch.rand_like(x) * 0"),
}


@pytest.mark.parametrize("name", list(POINTWISE | ROWS | PRODUCTS))
def test_all_in_triton(name):
    shapes, body = (POINTWISE | ROWS | PRODUCTS)[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True)


@pytest.mark.parametrize("name", list(LONG))
def test_long_rows(name):
    shapes, body = LONG[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True)


def test_a_product_of_sums_of_sums():
    text = oracle.file_of("(950,600),(600,950)", "torch.relu(x @ y)")  # as small as one that is cut up can be
    assert oracle.check(text, "f", is_function=True, strict=True, count=3, without="bfloat16")


def test_a_product_of_bfloat16_parts():
    text = oracle.file_of("(400,520),(520,330)", "torch.relu(x @ y)")  # as small as one of parts can be
    assert oracle.check(text, "f", is_function=True, strict=True, count=1)


# Odd sizes: copies along the sum, filled up with zeros.
FILLED_UP = {
    "turned": ("(879,301),(259,879)", "torch.relu(x.t() @ y.t())"),
    "one_matrix_for_all": ("(2,150,879),(879,259)", "x @ y"),
    "batches": ("(2,301,431),(2,431,259)", "x @ y"),
    "batches_of_both": ("(2,1,301,217),(2,217,259)", "x @ y"),
}


@pytest.mark.parametrize("name", list(FILLED_UP))
def test_factors_that_are_filled_up(name):
    errors = oracle.check(oracle.file_of(*FILLED_UP[name]), "f", is_function=True, strict=True, count=1)
    assert list(errors) == ["products of bfloat16 parts"]


def test_factors_in_tf32_that_are_filled_up():
    text = oracle.file_of(*FILLED_UP["turned"])
    errors = oracle.check(text, "f", is_function=True, strict=True, count=1, tolerance=3e-3, fp32_precision="tf32")
    assert list(errors) == ["TF32 products"]


@pytest.mark.parametrize("length", [4097, 4099, 6143, 20011])
def test_sums_without_divisors(length):
    """All but a rest is cut for many programs; a rest of one would be no product."""
    text = oracle.file_of(f"(11,{length}),({length},40),(40,)", "(x @ y, F.linear(x, y.t(), z).relu(), y.t() @ x.t())")
    assert oracle.check(text, "f", is_function=True, strict=True, count=2, with_first="batch = pid //")


def test_parts_of_all_weights_in_one_launch():
    text = oracle.file_of("(272,512),(512,512),(512,512)", "torch.relu(torch.relu(x @ y) @ z)")
    assert oracle.check(text, "f", is_function=True, strict=True, count=1)


def test_parts_that_are_made_where_the_activation_is():
    body = "(lambda a: (a, F.conv2d(a, z, padding=1)))(torch.relu(F.conv2d(x, y)))"
    text = oracle.file_of("(2,8,37,29),(64,8,1,1),(56,64,3,3)", body)
    assert oracle.check(text, "f", is_function=True, strict=True, count=1)


# As small as those can be whose results are made phase by phase.
TRANSPOSED = {
    "whole_grid": ("(5,32,15,16),(32,30,4,4),(30,)", "F.gelu(F.conv_transpose2d(x, y, z, stride=2))"),
    "grid_moved": ("(5,32,15,16),(32,30,4,4),(30,)", "F.conv_transpose2d(x, y, z, stride=2, padding=1, output_padding=1)"),
    "groups_3d": ("(2,20,7,8,9),(20,24,3,3,3)", "torch.relu(F.conv_transpose3d(x, y, stride=2, padding=1, output_padding=1, groups=2))"),
    "phases_without_taps": ("(2,16,7,8,9),(16,24,3,3,3),(24,)", "F.conv_transpose3d(x, y, z, stride=2, padding=1, dilation=2)"),
    "one_stride_of_two": ("(4,24,26,25),(24,24,3,5),(24,)", "F.conv_transpose2d(x, y, z, stride=(1, 3), padding=(1, 2), dilation=(2, 1))"),
}


@pytest.mark.parametrize("name", list(TRANSPOSED))
def test_transposed_convolutions_with_strides(name):
    errors = oracle.check(oracle.file_of(*TRANSPOSED[name]), "f", is_function=True, strict=True, count=1)
    assert list(errors) == ["products of bfloat16 parts"]


# As small as products in TF32 can be.
TF32 = {
    "copied_infinities": ("(520,400),(520,330)", "torch.where(x > 3.5, x / 0, x).t() @ y"),
    "rounded_where_made": ("(272,512),(512,512),(512,512)", "F.linear(torch.relu(F.linear(x, y)), z)"),
    "batches": ("(2,1,100,300),(3,300,400)", "x @ y"),
    "attention": ("(1,2,600,96),(1,2,600,96)", "F.scaled_dot_product_attention(x, y, y, is_causal=True)"),
    "conv1d": ("(3,40,700),(64,40,17)", "F.conv1d(x, y, stride=1, padding=3)"),
    "conv2d": ("(4,22,40,37),(56,22,3,4),(56,)", "F.conv2d(x, y, z, dilation=2, padding=1)"),
    "chain": ("(2,8,37,29),(64,8,1,1),(56,64,3,3)", "(lambda a: (a, F.conv2d(a, z, padding=1)))(torch.relu(F.conv2d(x, y)))"),
}


@pytest.mark.parametrize("name", list(TF32))
def test_products_in_tf32(name):
    errors = oracle.check(oracle.file_of(*TF32[name]), "f", is_function=True, strict=True, count=1, tolerance=3e-3, fp32_precision="tf32")
    form = "TF32 products, pointers" if "conv" in TF32[name][1] else "TF32 products"
    assert list(errors) == [form] and errors[form] > 1e-5


def test_convolutions_in_tf32_and_products_of_parts():
    body = "F.linear(F.conv2d(x, y, padding=1).flatten(2), z)"
    text = oracle.file_of("(4,24,40,36),(56,24,3,3),(530,1440)", body)
    errors = oracle.check(text, "f", is_function=True, strict=True, count=1, tolerance=3e-3, fp32_precision="pytorch")
    assert list(errors) == ["TF32 products, pointers"] and errors["TF32 products, pointers"] > 1e-5
    exact = oracle.check(oracle.file_of("(96,900),(530,900)", "F.linear(x, y)"), "f", is_function=True, strict=True, count=1,
                         fp32_precision="pytorch")  # fmt: skip
    assert max(exact.values()) < 2e-5


def test_small_products_in_tf32():
    text = oracle.file_of("(33,40),(40,20)", "torch.relu(x @ y)")
    errors = oracle.check(text, "f", is_function=True, strict=True, count=2, tolerance=3e-3, fp32_precision="tf32")
    assert errors["fused"] < 2e-5 and errors["TF32 dots"] > 1e-5


@pytest.mark.parametrize("name", list(INDEXED))
def test_indexed(name):
    shapes, body = INDEXED[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=3)


HALF = {
    "chain": ("(3,37),(37,)", "F.gelu(x * 2 + y)"),
    "softmax": ("(5,70)", "torch.softmax(x * 0.3, -1)"),
    "layer_norm": ("(5,48),(48,),(48,)", "F.layer_norm(x, (48,), y, z)"),
    "summed_rows": ("(203,60)", "x.softmax(1).amax(1).mean()"),
    "linear": ("(17,32),(24,32),(24,)", "F.relu(F.linear(x, y, z))"),
    "attention": ("(2,37,64),(2,53,64)", "F.scaled_dot_product_attention(x, y, y)"),
    "attention_by_hand": ("(2,37,64),(2,53,64)", "F.softmax(x @ y.transpose(1, 2) / 8, -1, dtype=torch.float32).to(x.dtype) @ y"),
    "one_query": ("(2,8,1,64),(2,2,300,64)", "F.scaled_dot_product_attention(x, y, y, enable_gqa=True)"),
    "queries_in_pieces": ("(1,2,2,64),(1,1,1100,64)", "F.scaled_dot_product_attention(x, y, y, enable_gqa=True)"),
    "widened": ("(17,32),(32,24),(24,)", "F.linear(x.float(), y.float().t(), z.float())"),
    "widened_attention": ("(2,37,64),(2,53,64)", "F.softmax(x.float() @ y.float().transpose(1, 2) / 8, -1).to(x.dtype) @ y"),
    "widened_long_sum": ("(8,4096),(4096,24)", "x.float() @ y.float()"),
    "mixed": ("(6,40)", "x.float().pow(2).mean(-1, keepdim=True).half() * x"),
}

# As small as products can be whose tiles a GPU's worth of programs take in turn, or whose windows are read along channels.
LARGE_HALF = {
    "widened": ("(700,400),(400,264)", "torch.relu(x.float() @ y.float())"),
    "in_turn": ("(70,128,80),(70,264,80)", "torch.relu(x @ y.transpose(1, 2))"),
    "batches_of_odd_sizes": ("(36,200,128),(36,128,328)", "x @ y + 1"),
    "one_matrix_for_all": ("(40,130,64),(520,64)", "F.linear(x, y)"),
    "much_behind": ("(1100,72),(1800,72),(1800,)", "F.gelu(F.linear(x, y, z))"),
    "conv2d": ("(4,22,40,37),(56,22,3,4),(56,)", "F.conv2d(x, y, z, dilation=2, padding=1)"),
    "conv2d_channels_last": ("(4,40,40,24),(56,24,3,3)", "F.conv2d(x.permute(0, 3, 1, 2), y, padding=1)"),
    "conv_transpose1d": ("(4,40,700),(40,64,9)", "F.conv_transpose1d(x, y, stride=2, padding=3)"),
    "patches": ("(6,3,160,160),(160,3,16,16)", "F.conv2d(x, y, stride=16)"),
    "einsum": ("(4,16,160,32),(16,32,256)", "torch.einsum('bhsd,hdo->bso', x, y)"),
    "conv2d_of_one_place": ("(4,64,33,16),(520,64,1,1),(520,)", "torch.relu(F.conv2d(x, y, z))"),
}


@pytest.mark.parametrize("name", list(HALF))
def test_half_computes_in_float32(name):
    shapes, body = HALF[name]
    source = oracle.file_of(shapes, body).replace("torch.randn(s)", "torch.randn(s).half()")
    assert oracle.check(source, "f", is_function=True, strict=True, tolerance=2e-3)


@pytest.mark.parametrize("name", list(LARGE_HALF))
def test_large_products_of_half_types(name):
    shapes, body = LARGE_HALF[name]
    dtype, tolerance = ("half", 2e-3) if "conv" in name else ("bfloat16", 5e-3)
    source = oracle.file_of(shapes, body).replace("torch.randn(s)", f"torch.randn(s).{dtype}()")
    errors = oracle.check(source, "f", is_function=True, strict=True, count=1, tolerance=tolerance)
    assert list(errors) == ["persistent products"]


@pytest.mark.parametrize("name", list(HYBRID))
def test_hybrid(name):
    shapes, body = HYBRID[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True)
