"""Orders of lines by networks, against PyTorch: ties, NaN, both zeros, types, dimensions.

Orders by ranks, and of lines in pieces: tests/e2e, on the tile machine (Triton's interpreter keeps some masks as floats, and takes minutes for pieces)."""
import pytest

import oracle

# Ties, NaN, infinities and both zeros.
ODD = ("torch.where(x > 1.5, float('nan'), torch.where(x < -1.5, -0.0, torch.where(x.abs() < 0.2, 0.0,"
       " torch.where(x.abs() > 1.2, float('inf') * x, torch.round(2 * x)))))")  # fmt: skip
# name: (shapes of the inputs, body of f)
SORTS = {
    "by_a_network": ("(7,50)", "(torch.sort(x, 1), torch.sort(x, 1, descending=True), x.topk(9), x.topk(9, largest=False))"),
    "across": ("(2,50,3)", "(torch.sort(x, 1), x.topk(4, 1))"),
    "whole_tensor": ("(70,)", "(x.sort(), x.argsort(descending=True))"),
    "odd_values": ("(7,60)", f"(torch.sort({ODD}, stable=True), torch.sort({ODD}, descending=True, stable=True))"),
    "half": ("(3,60)", "(torch.sort(torch.round(4 * x).half(), stable=True), torch.sort(torch.round(4 * x).bfloat16(), descending=True, stable=True))"),
    "integers": ("(3,60)", "(torch.sort((90 * x).int(), stable=True), torch.sort((90 * x).to(torch.int8), descending=True, stable=True))"),
    "bytes": ("(3,60)", "torch.sort((90 * x.abs()).to(torch.uint8), descending=True, stable=True)"),
    "values_alone": ("(7,50)", "(torch.sort(x, 1)[0], torch.sort(x.half(), 1, descending=True)[0], torch.sort(torch.round(4 * x).bfloat16(), 1)[0], torch.sort((90 * x).int(), 1, descending=True)[0])"),
    "odd_values_alone": ("(7,60)", f"(torch.sort({ODD}, 1)[0], torch.sort({ODD}.half(), 1, descending=True)[0], torch.sort({ODD}.bfloat16(), 1)[0])"),
    "small_integers_alone": ("(3,60)", "(torch.sort((90 * x).short(), descending=True)[0], torch.sort((90 * x).to(torch.int8))[0], torch.sort((90 * x.abs()).to(torch.uint8))[0], torch.sort(x > 0)[0])"),
    "half_made_on_the_way": ("(3,60)", "torch.sort(x.half() * 1.1)[0]"),
    "single_places": ("(3,300)", "(x.sort(1)[0][:, 9], x.sort(1, descending=True)[0][:, 200:201], *(y[:, 150] for y in torch.sort(x, dim=1, stable=True)), x.half().sort(1)[0][:, 0], x.sort(1)[0].select(1, -1))"),
    "single_odd_places": ("(3,300)", f"tuple(torch.sort({ODD}, 1, d)[0][:, i] for d in (False, True) for i in (0, 20, 100, 150, 290))"),
    "single_places_across": ("(2,300,9)", "(x.sort(1)[0][:, 150], x.sort(1, descending=True)[0][:, 299] - x.mean(1))"),
    "candidates": ("(3,300)", "(x.topk(9), x.topk(12, largest=False)[0], x.half().topk(5)[0], torch.round(9 * x).bfloat16().topk(7)[0], (90 * x).int().topk(3, largest=False)[0])"),
    "odd_candidates": ("(3,300)", f"tuple(({ODD}).topk(k, 1, d)[0] for d in (False, True) for k in (2, 9, 17))"),
    "equal_candidates": ("(3,300)", "(torch.where(x > 2, x, 0.0).topk(9)[0], torch.where(x > 9, x, float('-inf')).topk(5)[0], torch.where(x > 9, x, float('nan')).topk(5, largest=False)[0])"),
    "candidates_across": ("(300,20)", "(x.topk(4, 0), x.softmax(1).topk(3, 0)[0])"),
    "behind_a_sort": ("(5,100)", "x.sort(1).values.cumsum(1) - x.sort(1).values.softmax(1)"),
}  # fmt: skip


@pytest.mark.parametrize("name", SORTS)
def test_sorting(name):
    shapes, body = SORTS[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=4)
