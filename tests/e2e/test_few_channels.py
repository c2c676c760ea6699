"""Convolutions of few channels as outer products, verified: Triton's interpreter takes minutes for the smallest."""

CONVOLUTIONS = {
    "padded_groups": ("Conv2d(4, 24, 3, padding=1, groups=2)", "2, 4, 240, 200"),
    "dilated_3d": ("Conv3d(3, 13, (2, 3, 3), padding=(1, 2, 0), dilation=(1, 2, 1))", "1, 3, 12, 120, 130"),
    "strided_1d": ("Conv1d(5, 14, 7, stride=2, padding=3)", "8, 5, 40003"),
    "transposed": ("ConvTranspose2d(7, 24, (2, 3), padding=1)", "2, 7, 250, 200"),
    "one_step": ("Conv2d(16, 24, 1)", "2, 16, 330, 290"),
}
MODULE = """import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.{conv}
    def forward(self, x):
        return torch.relu(self.conv(x))
def get_inputs(): return [torch.randn({sizes})]
def get_init_inputs(): return []
"""


def test_outer_products_pass(taught):
    teacher = taught({name: MODULE.format(conv=conv, sizes=sizes) for name, (conv, sizes) in CONVOLUTIONS.items()}, 1, "--strict")
    assert teacher["verdicts"] == {"passed": len(CONVOLUTIONS)}, teacher["examples"]
