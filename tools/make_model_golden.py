"""Writes tests/golden/models: configurations with the RoPE frequencies and the parameters' names and shapes that
transformers has for them, and a sharded checkpoint that it saved. Run as tools/make_tokenizer_golden.py.
"""
import json
import pathlib

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

FOLDER = pathlib.Path(__file__).parent.parent / "tests/golden/models"
SMALL = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=4096, hidden_act="silu")
ROPES = {
    "default": None,
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.5},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
    "yarn_all": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512, "mscale": 0.7, "mscale_all_dim": 1.3,
                 "beta_fast": 24, "beta_slow": 2, "truncate": False},
    "yarn_attention": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 2048, "attention_factor": 1.25},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 1024},
}
MODELS = {  # the fields that are unlike between the families
    "qwen3": dict(model_type="qwen3", architectures=["Qwen3ForCausalLM"], head_dim=16, tie_word_embeddings=True, rms_norm_eps=1e-6),
    "qwen3_biased": dict(model_type="qwen3", architectures=["Qwen3ForCausalLM"], head_dim=8, attention_bias=True),
    "qwen2": dict(model_type="qwen2", architectures=["Qwen2ForCausalLM"], rope_theta=1000000.0),
    "llama": dict(model_type="llama", architectures=["LlamaForCausalLM"], rope_theta=500000.0),
    "llama_biased": dict(model_type="llama", architectures=["LlamaForCausalLM"], attention_bias=True, mlp_bias=True,
                         num_key_value_heads=1, tie_word_embeddings=True),
}


def inverse_frequencies(config, kind, length):
    if kind == "default":
        dim = config.head_dim
        return (1.0 / (config.rope_parameters["rope_theta"] ** (torch.arange(0, dim, 2).float() / dim))), 1.0
    return ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=length)


def load(fields):
    return AutoConfig.for_model(**{k: v for k, v in fields.items() if k != "architectures"})


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    ropes = []
    for name, scaling in ROPES.items():
        for head_dim, theta, length in ((64, 10000.0, 0), (128, 1e6, 0), (64, 500000.0, 10000)):
            fields = SMALL | MODELS["llama"] | dict(head_dim=head_dim, rope_theta=theta, rope_scaling=scaling)
            kind = (scaling or {}).get("rope_type") or (scaling or {}).get("type") or "default"
            frequencies, factor = inverse_frequencies(load(fields), kind, length or None)
            ropes.append(dict(config=fields, length=length, frequencies=frequencies.tolist(), attention_factor=factor))
    models = []
    for name, extra in MODELS.items():
        fields = SMALL | extra
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(load(fields))
        tied = fields.get("tie_word_embeddings", False)
        state = {k: list(v.shape) for k, v in model.state_dict().items() if not (tied and k == "lm_head.weight")}
        models.append(dict(config=fields, tensors=state))
    (FOLDER / "ropes.json").write_text(json.dumps(ropes))
    (FOLDER / "models.json").write_text(json.dumps(models))
    torch.manual_seed(0)
    fields = SMALL | MODELS["qwen3"] | dict(num_hidden_layers=1, hidden_size=16, intermediate_size=16, head_dim=4)
    model = AutoModelForCausalLM.from_config(load(fields)).to(torch.bfloat16)
    model.save_pretrained(FOLDER / "sharded", max_shard_size="3KB")
    sums = {k: [str(v.dtype).removeprefix("torch."), v.double().sum().item()] for k, v in model.state_dict().items() if k != "lm_head.weight"}
    (FOLDER / "sharded" / "sums.json").write_text(json.dumps(sums))
    (FOLDER / "sharded" / "generation_config.json").unlink(missing_ok=True)


main()
