"""Windows taken element by element, many side by side, against PyTorch."""

import pytest

import oracle

# name: (shapes of inputs, body of f, what the loop over a window's elements looks like)
WINDOWS = {
    # The second reduction needs the first one's result.
    "moving_deviations": ("(3,69)", "x[:, torch.arange(62)[:, None] + torch.arange(8)].std(-1)", "tl.static_range(0, N_COLS"),
    "moving_bands": ("(3,69)", "(lambda w: (x[:, 7:] - w.mean(-1)) / (w.std(-1) + 0.1))(x[:, torch.arange(62)[:, None] + torch.arange(8)])", "tl.static_range(0, N_COLS"),
    # Loops of more than 64 elements are not written out, and there must be 132 * 512 windows.
    "long": ("(2,33857),(2,1,66)", "F.conv1d(x, y, groups=2)", "in range(0, WINDOW)"),
}  # fmt: skip

# Depthwise convolutions of (n, places, channels): results lie as the input does, and so do copies of the weights.
TOKENS = {
    "tokens": ("(2,70,24),(24,1,3,3),(24,)", "F.conv2d(x.transpose(1, 2).view(2, 24, 10, 7), y, z, padding=1, groups=24).flatten(2).transpose(1, 2).relu()"),
    "images": ("(2,10,7,24),(24,1,3,2),(24,)", "F.conv2d(x.permute(0, 3, 1, 2), y, z, stride=2, groups=24).exp()"),
    "sequences": ("(2,31,24),(24,1,4)", "F.conv1d(F.silu(x).transpose(1, 2), y, padding=3, groups=24)[..., :31].transpose(1, 2) + x"),
    "one_image": ("(9,7,24),(24,1,3,3)", "F.conv2d(x.permute(2, 0, 1), y, dilation=2, groups=24)"),
    "transposed": ("(2,9,7,24),(24,1,3,3)", "F.conv_transpose2d(x.permute(0, 3, 1, 2), y, stride=2, groups=24)"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
def test_tokens(name):
    shapes, body = TOKENS[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=1, with_first="copy = torch.empty(")


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    shapes, body, loop = WINDOWS[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=1, with_first=loop)
