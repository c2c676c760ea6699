"""Concatenations whose parts kernels store where they belong, against PyTorch."""

import pytest

import oracle

CONVOLUTIONS = "(2,8,34,36),(40,8,3,3),(24,8,1,1)"
# name: (shapes of the inputs, body of f)
JOINED = {
    "branches": (CONVOLUTIONS, "torch.cat([torch.relu(F.conv2d(x, y, padding=1)), F.conv2d(x, z), F.max_pool2d(x, 3, 1, 1)], 1)"),
    "read_by_windows": (CONVOLUTIONS, "F.max_pool2d(torch.cat([F.conv2d(x, y, padding=1), F.conv2d(x, z)], 1), 2)"),
    "flattened": (CONVOLUTIONS, "torch.cat([F.conv2d(x, y, padding=1).flatten(2), F.conv2d(x, y, stride=2).flatten(2)], 2).transpose(1, 2).contiguous()"),
    "running_sums": ("(90,1030)", "torch.cat([torch.zeros_like(x[:, :1]), x.cumsum(1)], 1)"),
    "sums_before_each": ("(90,1030)", "torch.cat([torch.zeros_like(x[:, :1]), x.cumsum(1)[:, :-1]], 1)"),
    "sums_without_the_first": ("(90,1030)", "torch.cat([x.cumsum(1)[:, 3:], x[:, :5]], 1)"),
    "of_two_axes": ("(90,64),(50,64),(130,64)", "(torch.cat([F.linear(x, z), F.linear(y, z)]), torch.stack([torch.tanh(F.linear(x, z)), F.linear(x, z)], -1))"),
    "a_part_of_two": ("(3,6),(11,5),(11,5)", "torch.cat([x, torch.tanh(torch.cat([x, torch.tanh(torch.cat([x, x[:, 1:]], 1) @ y)], 1) @ z)], 1)"),
    "statistics": ("(90,500)", "torch.cat([x.mean(-1, keepdim=True), x.amax(-1, keepdim=True), torch.softmax(x, -1), x], -1)"),
    "new_keys": ("(2,64,128),(128,128),(2,4,300,32)", "torch.cat([z, F.linear(x, y).view(2, 64, 4, 32).transpose(1, 2)], 2)"),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
def test_placed_parts(name):
    shapes, body = JOINED[name]
    assert oracle.check(oracle.file_of(shapes, body), "f", is_function=True, strict=True, count=2)
