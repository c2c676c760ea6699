"""Pools whose windows are taken dimension by dimension, against PyTorch. As small as is worth several passes: long windows."""

import pytest

import oracle

# name: (shapes of the input, body of f)
POOLS = {
    "maxima": ("(1,1,42,32)", "F.max_pool2d((x + 3).log(), (41, 31), 1, (20, 15))"),
    "maxima_with_steps": ("(1,1,70,64)", "F.max_pool2d(x, (41, 51), (3, 2), (20, 25))"),
    "maxima_far_apart": ("(1,1,112,62)", "F.max_pool2d(x, (41, 31), 1, (10, 15), dilation=2)"),
    "averages": ("(1,81,71)", "F.avg_pool2d(torch.relu(x) + 1, 41, 1)"),
    "averages_of_what_is_there": ("(42,32,1,1)", "F.avg_pool2d(x.permute(3, 2, 0, 1), (41, 31), 1, (20, 15), count_include_pad=False)"),
    "averages_of_cut_windows": ("(1,1,70,64)", "F.avg_pool2d(x, (41, 51), (2, 3), (17, 25), ceil_mode=True)"),
    "sums_over_a_number": ("(1,1,42,32)", "F.avg_pool2d(x, (41, 31), 1, (20, 15), divisor_override=7)"),
    "power_averages": ("(1,1,81,71)", "F.lp_pool2d(x, 2.0, 41, 1)"),
    "maxima_3d": ("(1,1,10,11,16)", "F.max_pool3d(x, (7, 9, 15), 1, (3, 4, 7))"),
    "averages_3d": ("(1,1,16,12,16)", "F.avg_pool3d(x, (15, 5, 12), (2, 1, 1), (7, 2, 6), ceil_mode=True, count_include_pad=False)"),
}  # fmt: skip


def check(text, **options):
    """Of the one candidate something is stored between two passes."""
    between = "maximum" if "max_pool" in text else "total"
    return oracle.check(text, "f", is_function=True, strict=True, count=1, with_first=between + " = torch.empty(", **options)


@pytest.mark.parametrize("name", POOLS)
def test_pools(name):
    assert check(oracle.file_of(*POOLS[name]))


# Between passes there are sums that float16 does not hold.
@pytest.mark.parametrize("pool", ["avg_pool2d", "max_pool2d"])
def test_pools_of_halves(pool):
    assert check(oracle.file_of("(1,1,42,32)", f"F.{pool}(9000 + 99 * x.half(), (41, 31), 1, (20, 15))"), tolerance=6e-4)
