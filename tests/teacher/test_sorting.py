"""Orders of lines by networks, against PyTorch: ties, NaN, both zeros, types, dimensions.

Orders by ranks, and of lines in pieces: tests/e2e, on the tile machine (Triton's interpreter keeps some masks as floats, and takes minutes for pieces)."""
import pytest

import oracle
import torch

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


# A line of one program whose keys of 64 bits are sorted by 32. Longer ones: tests/e2e.
COARSE = ("(1,1024)", f"torch.sort({ODD}, descending=True, stable=True)[1]")
# The functions of its answer beside tl.sort.
TWINS = """

@triton.jit
def twins(keys_ptr, coarse_ptr, network_ptr, plain_ptr, LINE: tl.constexpr, LOW: tl.constexpr):
    place = tl.arange(0, 1 << LINE)
    pairs = (tl.load(keys_ptr + place).to(tl.int64) << 32) | place
    tl.store(coarse_ptr + place, by_coarse_keys(pairs, LINE, LOW, 4))
    tl.store(network_ptr + place, by_network(pairs, LINE, LINE, LOW))
    tl.store(plain_ptr + place, tl.sort(pairs))


@triton.jit
def lines(keys_ptr, sorted_ptr, ROWS: tl.constexpr, LINE: tl.constexpr, DIGITS: tl.constexpr, LOW: tl.constexpr):
    place = tl.arange(0, ROWS)[:, None] * (1 << LINE) + tl.arange(0, 1 << LINE)[None, :]
    tl.store(sorted_ptr + place, by_network(tl.load(keys_ptr + place), LINE, DIGITS, LOW))
"""
KEYS = {
    "signs": lambda n: torch.randn(n).view(torch.int32),
    "falling_signs": lambda n: ~torch.randn(n).abs().view(torch.int32),
    "zeros": lambda n: ~torch.randn(n).relu().view(torch.int32),
    "near": lambda n: (1e6 + torch.rand(n)).view(torch.int32),
    "beyond": lambda n: torch.tensor([0x7FC00000, 0x7F800000, -0x7F800001, 0, 5])[torch.randint(0, 5, (n,))].int(),
    "equal": lambda n: torch.full((n,), 0x7FFFFFFF, dtype=torch.int32),
    "all": lambda n: torch.randint(-(2**31), 2**31, (n,)).int(),
    "ends": lambda n: (torch.randint(0, 9, (n,)) * 0x20000001 - 2**31).clamp(-(2**31), 2**31 - 1).int(),
    "told_apart_by_all_bits": lambda n: torch.cat([torch.tensor([-(2**31) + 2**24, 2**30]), 7 + torch.randint(0, 300, (n - 2,))]).int(),
}  # fmt: skip


def test_sorting_by_coarse_keys():
    assert oracle.check(oracle.file_of(*COARSE), "f", is_function=True, strict=True, count=1, with_first="by_coarse_keys(")


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    source = oracle.file_of(*COARSE)
    program = oracle.trace(oracle.load(source, folder, "reference").f, [torch.randn(1, 1024)], ["x"])[0]
    answer = oracle.teach(program, source, "f", True, strict=True, count=1)["answers"][0]["source"]
    return oracle.load(answer + TWINS, folder, "twins")


@pytest.mark.parametrize("name", KEYS)
def test_networks_and_their_plain_twin(name, functions):
    torch.manual_seed(0)
    for line, low in ((7, 5), (6, 1)):
        keys = KEYS[name](1 << line)
        coarse, network, plain = (torch.zeros(1 << line, dtype=torch.int64) for _ in range(3))
        functions.twins[(1,)](keys, coarse, network, plain, line, low)
        assert torch.equal(coarse, plain) and torch.equal(network, plain)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_networks_of_several_lines(dtype, functions):
    torch.manual_seed(0)
    for rows, line, low in ((1, 1, 0), (4, 1, 0), (2, 2, 1), (1, 5, 3), (8, 4, 0), (2, 5, 2), (4, 6, 5)):
        keys = torch.randint(-(2**31), 2**31, (rows, 1 << line)).to(dtype)
        keys[:, ::3] = 7
        got = torch.zeros_like(keys)
        functions.lines[(1,)](keys, got, rows, line, line + rows.bit_length() - 1, low)
        assert torch.equal(got, keys.sort(1)[0]), (rows, line, low)
