"""Models of the library `transformers`, in their own code: they are recorded, answered strictly, and written as modules."""

import pytest

from .shipped import check, convert

SIZES = "hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100"
# name: (configuration, model, arguments, result, random input)
MODELS = {
    "bert": ("BertConfig", "BertModel", SIZES + ", attention_probs_dropout_prob=0, hidden_dropout_prob=0", "last_hidden_state", "torch.randint(0, 100, (2, 8))"),
    "llama": ("LlamaConfig", "LlamaForCausalLM", SIZES + ", num_key_value_heads=1", "logits", "torch.randint(0, 100, (2, 8))"),
    "vit": ("ViTConfig", "ViTModel", SIZES.rpartition(",")[0] + ", image_size=32, patch_size=8", "last_hidden_state", "torch.randn(2, 3, 32, 32)"),
}  # fmt: skip
MODULE = """import torch, torch.nn as nn
from transformers import {config}, {model}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = {model}({config}({arguments}))
    def forward(self, x): return self.model(x).{result}
def get_inputs(): return [{input}]
def get_init_inputs(): return []
"""


@pytest.mark.parametrize("name", MODELS)
def test_models_of_transformers(tritogen, tmp_path, name):
    pytest.importorskip("transformers")
    config, model, arguments, result, given = MODELS[name]
    text = MODULE.format(config=config, model=model, arguments=arguments, result=result, input=given)
    assert "wrote shipped.py" in (said := convert(tritogen, tmp_path, text)), said
    check(tmp_path, f"one, other = pair()\nassert alike(one, other, {given}) and ran")


def test_dropout_in_attention_is_named(tritogen, tmp_path):
    text = (
        "import torch, torch.nn as nn, torch.nn.functional as F\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x): return F.scaled_dot_product_attention(x, x, x, dropout_p=0.1)\n"
        "def get_inputs(): return [torch.randn(2, 8, 16)]\n"
        "def get_init_inputs(): return []\n"
    )
    said = convert(tritogen, tmp_path, text)
    assert "dropout in attention" in said and "eval()" in said, said
