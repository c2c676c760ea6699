"""What stands in for flex_attention gives what PyTorch's gives without a compiler."""

import itertools
import os
import subprocess
import sys

import flexible_attention as ours
import pytest
import torch

B, H, L, E = 2, 4, 24, 16


torch.manual_seed(0)
_SLOPES, _BIAS, _DOCUMENT = torch.rand(H), torch.randn(H, 2 * L), torch.randint(0, 3, (B, L))
_SCORES = {
    "as they are": None,
    "soft caps": lambda score, b, h, q, k: 20 * torch.tanh(score / 20),
    "slopes": lambda score, b, h, q, k: score + _SLOPES[h] * (k - q),
    "a table of places": lambda score, b, h, q, k: score + _BIAS[h, q - k + L],
}
_MASKS = {
    "causal": lambda b, h, q, k: q >= k,
    "documents": lambda b, h, q, k: _DOCUMENT[b, q] == _DOCUMENT[b, k],
    "rows without a key": lambda b, h, q, k: (q >= k) & (k > 3),
    "heads": lambda b, h, q, k: (q - k).abs() <= h,
}


def masks_of(module):
    made = {name: module.create_block_mask(mod, B, H, L, L, device="cpu") for name, mod in _MASKS.items()}
    both = module.and_masks(_MASKS["causal"], module.or_masks(_MASKS["documents"], _MASKS["heads"]))
    return {"none": None, **made, "joined": module.create_block_mask(both, B, None, L, L, device="cpu")}


def compare(real, dtype, heads):
    query = torch.randn(B, H, L, E, dtype=dtype)
    key, value = torch.randn(B, heads, L, E, dtype=dtype), torch.randn(B, heads, L, E + 1, dtype=dtype)
    theirs, own = masks_of(real), masks_of(ours)
    for (said, score_mod), name in itertools.product(_SCORES.items(), own):
        options = {"score_mod": score_mod, "enable_gqa": heads != H}
        request = real.AuxRequest(lse=True)
        expected, aux = real.flex_attention(query, key, value, block_mask=theirs[name], return_aux=request, **options)
        got, sums = ours.flex_attention(query, key, value, block_mask=own[name], return_lse=True, **options)
        assert got.dtype == expected.dtype
        torch.testing.assert_close(got, expected, msg=lambda text: f"{dtype}, {heads} heads, {said}, {name}: {text}")
        torch.testing.assert_close(sums.float(), aux.lse.float())


def compare_masks(real):
    for mod in _MASKS.values():
        args = (mod, B, H, L, L, "cpu")
        assert torch.equal(ours.create_mask(*args), real.create_mask(*args))
    args = (_MASKS["causal"], None, None, 300, 200, "cpu")
    assert torch.equal(ours.create_block_mask(*args).to_dense(), real.create_block_mask(*args).to_dense())


def test_gives_what_pytorch_gives():
    """In a process of its own: this one's compiler is shut."""
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(ours.__file__)}
    finished = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0 and finished.stdout == "all alike\n", finished.stderr


def test_wrong_calls_say_what_is_wrong():
    query, key = torch.randn(1, 4, 8, 16), torch.randn(1, 2, 8, 16)
    with pytest.raises(ValueError, match="enable_gqa"):
        ours.flex_attention(query, key, key)
    mask = ours.create_block_mask(_MASKS["causal"], None, None, 16, 16, device="cpu")
    with pytest.raises(ValueError, match="block_mask was created for"):
        ours.flex_attention(query, query, query, block_mask=mask)
    with pytest.raises(NotImplementedError):
        ours.flex_attention(query[0], query[0], query[0])


if __name__ == "__main__":
    from torch.nn.attention import flex_attention as pytorchs

    pytorchs._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    for each in itertools.product((torch.float32, torch.bfloat16, torch.float64), (H, 2)):
        compare(pytorchs, *each)
    compare_masks(pytorchs)
    print("all alike")
