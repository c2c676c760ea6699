"""flex_attention and torch.cond, which PyTorch gives to its compiler, in modules that are converted."""

from .shipped import check, convert

ATTENTION = """import torch, torch.nn as nn
from torch.nn.attention.flex_attention import flex_attention, create_block_mask, and_masks
def causal(b, h, q, k): return q >= k
def near(b, h, q, k): return q - k < 9
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("slopes", torch.rand(4))
    def forward(self, q, k, v):
        mask = create_block_mask(and_masks(causal, near), None, None, q.shape[2], k.shape[2], device=q.device)
        def score(s, b, h, i, j): return s * 0.5 + self.slopes[h] * (j - i)
        return flex_attention(q, k, v, score_mod=score, block_mask=mask, enable_gqa=True)
def get_inputs(): return [torch.randn(2, 4, 40, 16), torch.randn(2, 2, 40, 16), torch.randn(2, 2, 40, 16)]
def get_init_inputs(): return []
"""

EITHER = """import torch, torch.nn as nn
class Model(nn.Module):
    def forward(self, x, y):
        low, high = torch.cond(x.sum() > y.sum(), lambda a, b: (a.sqrt(), a + 1), lambda a, b: (b * 2, a + b), (x, y))
        return low + high.sum(0)
def get_inputs(): return [torch.rand(5, 8), torch.rand(5, 8)]
def get_init_inputs(): return []
"""


def test_flex_attention_is_what_it_computes(tritogen, tmp_path):
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, ATTENTION, "--strict")), said
    check(
        tmp_path,
        """
one, other = pair()
assert alike(one, other, torch.randn(2, 4, 40, 16), torch.randn(2, 2, 40, 16), torch.randn(2, 2, 40, 16)) and len(ran) == 1
""",
    )


def test_of_a_condition_both_sides_are_computed(tritogen, tmp_path):
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, EITHER, "--strict")), said
    check(
        tmp_path,
        """
one, other = pair()
x, y = torch.rand(5, 8), torch.rand(5, 8)
assert alike(one, other, x + 1, y) and alike(one, other, x, y + 1)
""",
    )
