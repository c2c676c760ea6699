"""Attention in one kernel, in pieces, of bfloat16 parts, against PyTorch. Needs TEACH_FILE (the binary)."""
import pytest

import oracle

# Attention is one kernel in the first answer. Blocks of keys are 32 of float32: some of these take several.
QKT = "x @ y.transpose(-2, -1)"
ATTENTION = {
    "causal_cross": ("(2,2,37,8),(2,2,53,8)", "F.scaled_dot_product_attention(x, y, y, is_causal=True)"),
    "other_widths": ("(3,37,40),(3,53,40),(3,53,24)", "F.scaled_dot_product_attention(x, y, z, scale=0.3)"),
    "batches_of_einsum": ("(2,37,3,16),(2,41,3,16)", "torch.einsum('bhqk,bkhd->bqhd', (torch.einsum('bqhd,bkhd->bhqk', x, y) / 4).softmax(-1), y)"),
    "triangle": ("(2,70,16),(2,70,16)", f"({QKT} * 0.25).masked_fill(torch.tril(torch.ones(70, 70)) == 0, float('-inf')).softmax(-1) @ y"),
    "window_of_indices": ("(1,70,16),(1,70,16)", f"(lambda d: torch.where((d < 0) | (d > 9), float('-inf'), {QKT}).softmax(-1) @ y)(torch.arange(70)[:, None] - torch.arange(70))"),
    "window_both_ways": ("(2,90,16),(2,70,16)", f"({QKT}).masked_fill((torch.arange(90)[:, None] - torch.arange(70) + 3).abs() >= 7, float('-inf')).softmax(-1) @ y"),
    "window_called": ("(2,2,150,16),(2,2,150,16)", "(lambda i: F.scaled_dot_product_attention(x, y, y, attn_mask=(i[:, None] >= i) & (i[:, None] - i < 20)))(torch.arange(150))"),
    "window_and_triangle": ("(2,150,16),(2,150,16)", f"({QKT}).masked_fill(torch.ones(150, 150).triu(-30) == 0, float('-inf')).masked_fill(torch.ones(150, 150).tril() == 0, float('-inf')).softmax(-1) @ y"),
    "later_keys": ("(2,70,16),(2,90,16)", f"({QKT}).masked_fill(torch.arange(90) < torch.arange(70)[:, None] + 5, float('-inf')).softmax(-1) @ y"),
    "distances": ("(2,2,37,16),(2,2,37,16),(2,1,1)", f"({QKT} * 0.2 - z * (torch.arange(37)[:, None] - torch.arange(37)).abs()).softmax(-1) @ y"),
    "rows_without_keys": ("(2,37,16),(2,37,16),(37,37)", f"({QKT}).masked_fill(z < 1.5, float('-inf')).softmax(-1) @ y"),
    "bias_and_mask_of_windows": ("(4,3,9,16),(3,9,9),(2,9,9)", "((x @ x.transpose(-2, -1) + y).view(2, 2, 3, 9, 9) + z[:, None]).view(4, 3, 9, 9).softmax(-1) @ x"),
    "capped": ("(2,37,16),(2,37,16)", f"(torch.tanh({QKT} / 20) * 20).softmax(-1) @ y"),
    "one_query": ("(2,3,1,16),(2,3,70,16),(2,1,1,70)", "F.scaled_dot_product_attention(x, y, y, attn_mask=z > 0)"),
    "one_query_by_hand": ("(1,24),(70,24),(70,40)", "torch.softmax(x @ y.t() * 0.3, -1) @ z"),
    "shared_keys": ("(2,8,3,16),(2,2,70,16),(2,8,3,70)", "F.scaled_dot_product_attention(x, y, y, attn_mask=z, enable_gqa=True)"),
    "keys_repeated_for_heads": ("(2,8,2,16),(2,2,70,16),(8,1,1)", "(lambda k: (x @ k.transpose(-1, -2) * z.exp()).softmax(-1) @ k)(y.repeat_interleave(4, 1))"),
    "keys_of_all_heads": ("(2,5,1,16),(2,1,70,16)", "F.scaled_dot_product_attention(x, y.expand(2, 5, 70, 16), y.expand(2, 5, 70, 16))"),
    "keys_of_all_batches": ("(3,4,1,16),(1,4,70,16),(3,1,1,70)", "(x @ y.transpose(-1, -2) + z).softmax(-1) @ y"),
    "queries_of_a_product": ("(25,25),(5,25,25),(5,25,25)", "F.scaled_dot_product_attention(torch.baddbmm(x, y, z, beta=2, alpha=3), y, z, is_causal=True)"),
    "weights_of_an_attention": ("(2,20,16),(2,40,16),(2,40,40)", "F.scaled_dot_product_attention(x, y, z) * 2 @ y"),
    "own_softmax": ("(37,16),(29,16)", "(lambda e: (e / e.sum(-1, keepdim=True)) @ y)((lambda s: torch.exp(s - s.amax(-1, keepdim=True)))(x @ y.t()))"),
    "projected_heads": ("(2,17,24),(72,24)", "(lambda p: (p[0] @ p[1].transpose(-2, -1) * 8 ** -0.5).softmax(-1) @ p[2])((x @ y.t()).reshape(2, 17, 3, 3, 8).permute(2, 0, 3, 1, 4)).transpose(1, 2).reshape(2, 17, 24) + x"),
}


@pytest.mark.parametrize("name", list(ATTENTION))
def test_attention_is_one_kernel(name):
    shapes, body = ATTENTION[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=6, with_first="tl.exp2(")


# Of few queries and many keys, in pieces: each program writes what it has of its keys, and they are joined.
PIECES = {
    "plain": ("(2,3,16),(2,1100,16),(2,1100,24)", "F.scaled_dot_product_attention(x, y, z)"),
    "shared_keys": ("(2,8,1,16),(2,2,1025,16),(2,1,1,1025)", "F.scaled_dot_product_attention(x, y, y, attn_mask=z, enable_gqa=True)"),
    "causal": ("(1,20,16),(1,1100,16)", "F.scaled_dot_product_attention(x, y, y, is_causal=True)"),
    "causal_at_the_end": ("(2,3,16),(2,1300,16)", f"({QKT} * 0.3).masked_fill(torch.ones(3, 1300).triu(1298) == 1, float('-inf')).softmax(-1) @ y"),
    "window": ("(1,40,16),(1,1300,16)", f"(lambda d: torch.where((d > 1130) | (d < 400), float('-inf'), {QKT}).softmax(-1) @ y)(torch.arange(1300) - torch.arange(40)[:, None])"),
    "capped": ("(1,4,16),(1,1300,16)", f"(torch.tanh({QKT} / 20) * 20).softmax(-1) @ y"),
    "rows_without_keys": ("(2,5,16),(2,1280,16),(5,1)", f"({QKT}).masked_fill(z < 0.3, float('-inf')).softmax(-1) @ y"),
    "rows_without_keys_give_zeros": ("(1,2,5,16),(1,2,1280,16),(5,1)", "F.scaled_dot_product_attention(x, y, y, attn_mask=z.expand(5, 1280) > 0.3)"),
    "pieces_without_keys": ("(2,5,16),(2,1280,16),(1280,)", f"(x @ y.transpose(1, 2)).masked_fill((torch.arange(1280) < 700) | (z > 1), float('-inf')).softmax(-1) @ y"),
    "work_behind": ("(2,3,16),(2,1100,16),(16,)", "F.gelu(F.scaled_dot_product_attention(x, y, y).transpose(0, 1) + z) * 2"),
    "two_of_them": ("(1,3,16),(1,1100,16)", "(lambda a: a(a(x, y, y) + x, y, y * 2))(F.scaled_dot_product_attention)"),
}


@pytest.mark.parametrize("name", list(PIECES))
def test_attention_in_pieces(name):
    shapes, body = PIECES[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=3, with_first="PIECES")


def test_attention_in_pieces_of_bfloat16_parts():
    text = oracle.file_of("(8,16,64),(8,4096,64)", "F.scaled_dot_product_attention(x, y, y)")
    assert oracle.check(text, "f", is_function=True, strict=True, count=1, with_first="weights_high")


def test_attention_whose_programs_take_turns():
    text = oracle.file_of("(90,70,16),(90,3000,16)", "F.scaled_dot_product_attention(x, y, y, is_causal=True)")  # keys fill the cache twice
    assert oracle.check(text, "f", is_function=True, strict=True, count=1, with_first="% (num_m * TURNS)")


def test_attention_of_bfloat16_parts():
    text = oracle.file_of("(8,256,64),(8,256,64)", "F.scaled_dot_product_attention(x, y, y, is_causal=True)")  # as small as one of parts can be
    assert oracle.check(text, "f", is_function=True, strict=True, count=1, with_first="weights_high")


def test_weights_that_are_returned_are_stored():
    body = f"(lambda p: (p @ y, p))(({QKT} / 4).softmax(-1))"
    assert oracle.check(oracle.file_of("(2,37,16),(2,37,16)", body), "f", is_function=True, strict=True, count=2)
