"""Windows taken element by element, many side by side, against PyTorch."""

import pytest

import oracle

# name: (shapes of inputs, body of f, what the loop over a window's elements looks like)
WINDOWS = {
    # The second reduction needs the first one's result.
    "moving_deviations": ("(3,69)", "x[:, torch.arange(62)[:, None] + torch.arange(8)].std(-1)", "tl.static_range(0, N_COLS"),
    "moving_bands": ("(3,69)", "(lambda w: (x[:, 7:] - w.mean(-1)) / (w.std(-1) + 0.1))(x[:, torch.arange(62)[:, None] + torch.arange(8)])", "tl.static_range(0, N_COLS"),
    # More than 64 elements: there must be 132 * 512 windows.
    "long": ("(2,33857),(2,1,66)", "F.conv1d(x, y, groups=2)", "tl.static_range(0, WINDOW)"),
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    shapes, body, loop = WINDOWS[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=1, with_first=loop)
