"""Training against transformers and torch.optim: the gradient of every parameter and three steps of AdamW, by the plain and by the fused
pass (its kernels run by the tile machine), in float32.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TRAIN_STEPS", str(ROOT / "build/release/train_steps"))

SMALL = dict(vocab_size=97, hidden_size=64, intermediate_size=80, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             max_position_embeddings=256, rms_norm_eps=1e-6, attn_implementation="eager")  # fmt: skip
QWEN3 = dict(model_type="qwen3", head_dim=32, num_attention_heads=4, num_key_value_heads=2)
MODELS = {
    "qwen3_tied": QWEN3 | dict(tie_word_embeddings=True),
    "qwen3": QWEN3,
    "qwen2": dict(model_type="qwen2", rope_theta=1e6),
    "qwen2_tied": dict(model_type="qwen2", tie_word_embeddings=True),
    "llama": dict(model_type="llama", rope_theta=5e5, num_key_value_heads=2),
    "llama_biased_tied": dict(model_type="llama", attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
}
RATES = [0.01, 0.02, 0.005]
WEIGHT_DECAY, CLIP = 0.1, 0.8
EPSILON = 1e-5  # so that gradients that are rounding alone (of keys' biases: softmax does not see them) make no steps


def random_model(fields: dict) -> torch.nn.Module:
    """Weights large enough that attention is far from uniform and norms and biases matter."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**(SMALL | fields)))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = 0.2 * torch.randn_like(parameter)
            parameter.copy_(1 + noise if parameter.dim() == 1 and not name.endswith("bias") else noise)
    return model


def random_documents(vocabulary: int) -> list[dict]:
    documents = []
    for length in (15, 1, 34, 6):
        learns = torch.rand(length) < 0.7
        documents.append(dict(tokens=torch.randint(0, vocabulary, (length,)).tolist(),
                              targets=torch.where(learns, torch.randint(0, vocabulary, (length,)), -1).tolist(),
                              weights=torch.where(learns, 0.25 + torch.rand(length), 0).tolist()))  # fmt: skip
    return documents


def loss_of(model: torch.nn.Module, documents: list[dict]) -> torch.Tensor:
    total = torch.zeros(())
    for document in documents:
        logits = model(torch.tensor([document["tokens"]])).logits[0]
        losses = torch.nn.functional.cross_entropy(logits, torch.tensor(document["targets"]), reduction="none", ignore_index=-1)
        total = total + (losses * torch.tensor(document["weights"])).sum()
    return total


def expected_steps(model: torch.nn.Module, documents: list[dict]) -> dict[str, torch.Tensor]:
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    groups = [dict(params=matrices, weight_decay=WEIGHT_DECAY), dict(params=others, weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=EPSILON)
    results, losses = {}, []
    for rate in RATES:
        optimizer.zero_grad()
        loss = loss_of(model, documents)
        loss.backward()
        losses.append(loss.item())
        for name, parameter in model.named_parameters():
            results.setdefault("gradient." + name, parameter.grad.clone())
        assert torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP) > CLIP
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    results["losses"] = torch.tensor(losses)
    return results | {"weight." + name: parameter.detach() for name, parameter in model.named_parameters()}


@pytest.fixture(scope="module")
def program():
    process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(**request) -> None:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "{}\n"

    yield ask
    process.stdin.close()
    assert process.wait() == 0


@pytest.mark.parametrize("name", MODELS)
def test_gradients_and_steps(program, tmp_path, name):
    model = random_model(MODELS[name])
    model.save_pretrained(tmp_path / "model")
    documents = random_documents(model.config.vocab_size)
    start = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    expected = expected_steps(model, documents)
    for fused, checkpointing in ((False, False), (True, model.config.tie_word_embeddings)):
        program(load=str(tmp_path / "model"), documents=documents, fused=fused, checkpointing=checkpointing, rates=RATES,
                weight_decay=WEIGHT_DECAY, clip=CLIP, epsilon=EPSILON, out=str(tmp_path / "out"))  # fmt: skip
        got = load_file(tmp_path / "out")
        assert got.keys() == expected.keys()
        torch.testing.assert_close(got["losses"], expected["losses"], rtol=2e-5, atol=0)
        for key, reference in expected.items():
            kind, _, parameter = key.partition(".")
            if kind == "gradient":
                assert (got[key] - reference).abs().max() <= 2e-5 * reference.abs().max(), key
            elif kind == "weight":
                moved = (reference - start[parameter]).norm()
                assert moved > 0 and (got[key] - reference).norm() <= 1e-3 * moved, key
