"""Norms of what products make, against PyTorch: tiles make sums and squared distances, another kernel joins them."""

import pytest

import oracle

# name: (modules, body of forward, shape of x)
NORMS = {
    "conv": ("c=nn.Conv2d(3, 20, 3), n=nn.BatchNorm2d(20)", "self.n(self.c(x))", "(7,3,61,60)"),
    "relu_between": ("c=nn.Conv2d(3, 20, 3, padding=1), n=nn.BatchNorm2d(20)", "self.n(torch.relu(self.c(x)))", "(5,3,61,60)"),
    "large_mean": ("c=nn.Conv2d(3, 6, 1), n=nn.BatchNorm2d(6)", "self.n(self.c(x) + 20)", "(6,3,54,54)"),
    "one_channel": ("c=nn.Conv2d(2, 5, 3), n=nn.BatchNorm2d(1, momentum=0.3)", "torch.tanh(self.n(self.c(x).flatten(1, 2)[:, None]))", "(4,2,45,47)"),
    "batch_of_one": ("c=nn.Conv2d(2, 33, 3, bias=False), n=nn.BatchNorm2d(33, affine=False)", "self.n(self.c(x)) * 2", "(1,2,131,133)"),
    "groups": ("c=nn.Conv2d(6, 10, 3, groups=2), n=nn.BatchNorm2d(10)", "self.n(F.gelu(self.c(x)))", "(6,6,56,57)"),
    "lines": ("c=nn.Conv1d(4, 12, 5, stride=2), n=nn.BatchNorm1d(12)", "self.n(self.c(x))", "(17,4,2011)"),
    "volumes": ("c=nn.Conv3d(2, 9, 2), n=nn.BatchNorm3d(9, track_running_stats=False)", "self.n(self.c(x))", "(3,2,19,18,20)"),
    "linear": ("c=nn.Linear(10, 30), n=nn.BatchNorm1d(30)", "self.n(self.c(x))", "(16397,10)"),
    "linear_of_sequences": ("c=nn.Linear(10, 40), n=nn.BatchNorm1d(30)", "self.n(self.c(x))", "(501,30,10)"),
    "transposed": ("c=nn.ConvTranspose2d(3, 10, 3), n=nn.BatchNorm2d(10)", "torch.relu(self.n(self.c(x)))", "(6,3,53,54)"),
    "by_phases": ("c=nn.ConvTranspose2d(3, 10, 4, stride=2, padding=1), n=nn.BatchNorm2d(10)", "self.n(torch.relu(self.c(x)))", "(6,3,30,31)"),
    "by_phases_in_groups": ("c=nn.ConvTranspose1d(6, 10, 6, stride=3, groups=2, output_padding=1, padding=2), n=nn.BatchNorm1d(10)", "self.n(self.c(x))", "(6,6,1001)"),
    "two_of_one": ("c=nn.Conv2d(3, 8, 3), n=nn.BatchNorm2d(8), m=nn.BatchNorm2d(8)", "(self.n(self.c(x)), self.m(torch.relu(self.c(x))))", "(5,3,61,60)"),
    "chain": ("c=nn.Conv2d(3, 8, 3), n=nn.BatchNorm2d(8), d=nn.Conv2d(8, 9, 3, padding=1), m=nn.BatchNorm2d(9)", "F.relu(self.m(self.d(F.relu(self.n(self.c(x))))) + self.c(x)[:, :1])", "(5,3,61,60)"),
    "result_too": ("c=nn.Conv2d(3, 20, 3), n=nn.BatchNorm2d(20)", "(lambda y: (self.n(y), y))(self.c(x))", "(7,3,61,60)"),
    "group_norm": ("c=nn.Conv2d(3, 8, 3), n=nn.GroupNorm(2, 8)", "self.n(self.c(x))", "(3,3,72,73)"),
    "group_norm_of_all": ("c=nn.Conv2d(3, 8, 3), n=nn.GroupNorm(1, 8)", "self.n(self.c(x))", "(2,3,72,73)"),
}  # fmt: skip


def file_of(modules, body, shape):
    return ("import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\nclass Model(nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n        for k, m in dict({modules}).items():\n"
            f"            setattr(self, k, m)\n\n    def forward(self, x):\n        return {body}\n\n\n"
            f"def get_inputs():\n    return [torch.rand{shape}]\n")  # fmt: skip


@pytest.mark.parametrize("name", NORMS)
def test_tile_moments(name):
    assert oracle.check(file_of(*NORMS[name]), strict=True, count=2, with_first="distance = ")


def test_half():
    text = file_of("c=nn.Conv2d(3, 20, 3).half(), n=nn.BatchNorm2d(20)", "self.n(self.c(x.half()))", "(7,3,61,60)")
    assert oracle.check(text, strict=True, count=2, tolerance=2e-3, with_first="distance = ")


# Where a program holds a line, or a launch costs more than to read the little there is again.
@pytest.mark.parametrize("shape", ["(2,3,30,30)", "(70,3,12,12)"])
def test_of_little_as_before(shape):
    text = file_of("c=nn.Conv2d(3, 70, 3), n=nn.BatchNorm2d(70)", "self.n(self.c(x))", shape)
    with pytest.raises(AssertionError):
        oracle.check(text, strict=True, count=1, with_first="distance = ")
    assert oracle.check(text, strict=True, count=1)
