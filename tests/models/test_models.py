"""Decoders against transformers: the same small random checkpoints give the same logits, what we save loads there, and damaged folders
are refused in words.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("MODEL_LOGITS", str(ROOT / "build/release/model_logits"))

SMALL = dict(vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=256, rms_norm_eps=1e-5)
QWEN3 = dict(model_type="qwen3", head_dim=16, rms_norm_eps=1e-6)
QWEN2 = dict(model_type="qwen2", rope_theta=1e6)
LLAMA = dict(model_type="llama", rope_theta=5e5)


def rope(**fields) -> dict:
    return dict(rope_parameters=dict(rope_theta=10000.0) | fields)


CASES = {
    "qwen3": QWEN3,
    "qwen3_tied": QWEN3 | dict(tie_word_embeddings=True, vocab_size=1031),
    "qwen3_biased": QWEN3 | dict(attention_bias=True, head_dim=24),
    "qwen3_7_heads_a_kv_head": QWEN3 | dict(num_attention_heads=14, num_key_value_heads=2, head_dim=10),
    "qwen2": QWEN2,
    "qwen2_tied_7_heads_a_kv_head": QWEN2 | dict(num_attention_heads=7, num_key_value_heads=1, hidden_size=56, tie_word_embeddings=True),
    "qwen2_window_switched_off": QWEN2 | dict(use_sliding_window=False, sliding_window=16),
    "qwen2_window_of_no_layer": QWEN2 | dict(use_sliding_window=True, sliding_window=16, max_window_layers=2),
    "qwen2_window_of_all_texts": QWEN2 | dict(use_sliding_window=True, sliding_window=256, max_window_layers=0),
    "llama": LLAMA,
    "llama_as_many_kv_heads": LLAMA | dict(num_key_value_heads=4),
    "llama_3_heads_a_kv_head": LLAMA | dict(num_attention_heads=6, num_key_value_heads=2, head_dim=20),
    "llama_one_kv_head_biased_tied": LLAMA | dict(num_key_value_heads=1, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "llama_head_dim_2": LLAMA | dict(head_dim=2),
    "llama_tiny_vocabulary_odd_sizes": LLAMA | dict(vocab_size=3, hidden_size=45, intermediate_size=33, head_dim=6,
                                               num_attention_heads=3, num_key_value_heads=1),
    "llama_linear": LLAMA | rope(rope_type="linear", factor=4.0),
    "llama_dynamic": LLAMA | rope(rope_type="dynamic", factor=2.5) | dict(max_position_embeddings=32),
    "qwen2_yarn": QWEN2 | rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=64),
    "qwen3_yarn_all": QWEN3 | rope(rope_type="yarn", factor=8.0, original_max_position_embeddings=32, mscale=0.7, mscale_all_dim=1.3,
                                   beta_fast=24, beta_slow=2, truncate=False),
    "llama3": LLAMA | rope(rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                           original_max_position_embeddings=64),
}  # fmt: skip


class Program:
    def __init__(self):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, **request) -> str | None:
        """The error, or nothing."""
        self.process.stdin.write(json.dumps({k: str(v) if isinstance(v, pathlib.Path) else v for k, v in request.items()}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the program ended: {self.process.wait()}"
        return json.loads(answer).get("error")

    def logits(self, folder: pathlib.Path, tokens: torch.Tensor, path: pathlib.Path, dtype: str = "float32") -> torch.Tensor:
        assert self(load=folder, dtype=dtype, tokens=tokens.tolist(), logits=path) is None
        return load_file(path)["logits"]


@pytest.fixture(scope="module")
def program():
    program = Program()
    yield program
    program.process.stdin.close()
    assert program.process.wait() == 0


def random_model(fields: dict, dtype: torch.dtype = torch.float32, scale: float = 0.2) -> torch.nn.Module:
    """Weights large enough that attention is far from uniform and a wrong angle or norm shows."""
    torch.manual_seed(0)
    fields = SMALL | fields
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**fields)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(1 + scale * torch.randn_like(parameter) if parameter.dim() == 1 else scale * torch.randn_like(parameter))
        for name, parameter in model.named_parameters():
            if name.endswith(".bias"):
                parameter.sub_(1)
    return model.to(dtype)


def saved(fields: dict, folder: pathlib.Path, dtype: torch.dtype = torch.float32, **options) -> torch.nn.Module:
    model = random_model(fields, dtype)
    model.save_pretrained(folder, **options)
    return model


def random_tokens(model, texts: int = 2, length: int = 50) -> torch.Tensor:
    return torch.randint(0, model.config.vocab_size, (texts, length))


@torch.no_grad()
def expected(model, tokens: torch.Tensor) -> torch.Tensor:
    return model(tokens).logits.float()


@pytest.mark.parametrize("name", CASES)
def test_logits_and_saving(program, tmp_path, name):
    model = saved(CASES[name], tmp_path / "theirs")
    tokens = random_tokens(model)
    reference = expected(model, tokens)
    ours = program.logits(tmp_path / "theirs", tokens, tmp_path / "logits")
    assert ours.shape == reference.shape
    assert (ours - reference).abs().max() <= 1e-4
    assert reference.std() > 0.3  # or the bound would say little

    assert program(load=tmp_path / "theirs", save=tmp_path / "ours") is None
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "ours", dtype=torch.float32).eval()
    assert torch.equal(expected(again, tokens), reference)


# Below, at and beyond max_position_embeddings, where the base grows with the text; transformers keeps the base of the longest text it
# has seen, so each text has a model of its own.
@pytest.mark.parametrize("length", [7, 32, 33, 64, 150])
@pytest.mark.parametrize("fields", [LLAMA, QWEN3 | dict(head_dim=24)], ids=["llama", "qwen3"])
def test_dynamic_rope_of_any_length(program, tmp_path, fields, length):
    model = saved(fields | rope(rope_type="dynamic", factor=2.5) | dict(max_position_embeddings=32), tmp_path / "theirs")
    tokens = random_tokens(model, 2, length)
    ours = program.logits(tmp_path / "theirs", tokens, tmp_path / "logits")
    assert (ours - expected(model, tokens)).abs().max() <= 1e-4


# Both round to the dtype after each operation, though not in the same places: the error of each against the same weights in float32
# is compared, not the two with each other.
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["qwen3_tied", "qwen2", "llama3", "llama_one_kv_head_biased_tied"])
def test_half_precision_is_as_good_as_theirs(program, tmp_path, name, dtype):
    model = saved(CASES[name], tmp_path / "model", getattr(torch, dtype))
    tokens = random_tokens(model, 4)
    theirs = expected(model, tokens)
    exact = expected(model.float(), tokens)
    ours = program.logits(tmp_path / "model", tokens, tmp_path / "logits", dtype)
    unit = {"bfloat16": 2**-8, "float16": 2**-11}[dtype]
    assert (ours - exact).abs().max() <= 16 * unit * exact.abs().max()
    assert (ours - exact).square().mean().sqrt() <= 1.2 * (theirs - exact).square().mean().sqrt()


def test_dtypes_are_converted(program, tmp_path):
    model = saved(QWEN3, tmp_path / "model")
    tokens = random_tokens(model)
    assert program(load=tmp_path / "model", dtype="bfloat16", save=tmp_path / "narrow") is None
    narrow = AutoModelForCausalLM.from_pretrained(tmp_path / "narrow", dtype="auto")
    assert narrow.dtype == torch.bfloat16 and narrow.config.dtype == torch.bfloat16
    for name, parameter in model.bfloat16().named_parameters():
        assert torch.equal(dict(narrow.named_parameters())[name], parameter), name
    assert program(load=tmp_path / "narrow", save=tmp_path / "wide", save_dtype="float32") is None
    assert torch.equal(program.logits(tmp_path / "wide", tokens, tmp_path / "a"), program.logits(tmp_path / "narrow", tokens, tmp_path / "b"))


def test_shards_of_theirs_and_ours(program, tmp_path):
    model = saved(QWEN2, tmp_path / "theirs", max_shard_size="20KB")
    assert len(list((tmp_path / "theirs").glob("model-*.safetensors"))) > 3
    tokens = random_tokens(model)
    reference = expected(model, tokens)
    assert (program.logits(tmp_path / "theirs", tokens, tmp_path / "logits") - reference).abs().max() <= 1e-4
    assert program(load=tmp_path / "theirs", save=tmp_path / "ours", shard_bytes=20_000) is None
    assert len(list((tmp_path / "ours").glob("model-*.safetensors"))) > 3
    assert torch.equal(expected(AutoModelForCausalLM.from_pretrained(tmp_path / "ours"), tokens), reference)
    assert "holds weights already" in program(load=tmp_path / "theirs", save=tmp_path / "ours")


def test_filled_weights_are_as_training_starts(program, tmp_path):
    saved(QWEN3 | dict(attention_bias=True), tmp_path / "shape")
    config = tmp_path / "shape/config.json"
    for seed, dtype, name in ((1, "float32", "a"), (1, "float32", "b"), (1, "bfloat16", "c"), (2, "float32", "d")):
        assert program(fill=config, seed=seed, dtype=dtype, save=tmp_path / name) is None
    a, b, c, d = (load_file(tmp_path / name / "model.safetensors") for name in "abcd")
    for name, tensor in a.items():
        assert torch.equal(tensor, b[name]) and torch.equal(tensor.bfloat16(), c[name])
        if tensor.dim() == 1:
            assert torch.equal(tensor, torch.full_like(tensor, 0 if name.endswith("bias") else 1))
            continue
        n = tensor.numel()
        assert abs(tensor.mean()) < 5 * 0.02 / n**0.5 and abs(tensor.std() / 0.02 - 1) < 5 / (2 * n) ** 0.5
        assert abs(torch.corrcoef(torch.stack([tensor.flatten(), d[name].flatten()]))[0, 1]) < 5 / n**0.5
    same_shape = [t.flatten() for name, t in a.items() if t.shape == (80, 48)]
    assert torch.corrcoef(torch.stack(same_shape)).fill_diagonal_(0).abs().max() < 0.08
    everything = torch.cat([t.flatten() for t in a.values() if t.dim() == 2]) / 0.02
    assert abs(everything.pow(4).mean() - 2.85) < 0.1  # 3 of a normal distribution


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "model"
    saved(LLAMA, folder, torch.bfloat16, max_shard_size="20KB")
    return folder


def damage(folder: pathlib.Path, name: str, change) -> None:
    """Rewrites the shard that has tensor `name`."""
    shard = folder / json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"][name]
    tensors = load_file(shard)
    tensors[name] = change(tensors[name])
    save_file(tensors, shard, {"format": "pt"})


def first_shard(folder: pathlib.Path) -> pathlib.Path:
    return sorted(folder.glob("model-*.safetensors"))[0]


def with_value(value: float):
    def change(tensor: torch.Tensor) -> torch.Tensor:
        tensor[3, 5] = value
        return tensor

    return change


def cut(folder: pathlib.Path, keep: float) -> None:
    shard = first_shard(folder)
    data = shard.read_bytes()
    shard.write_bytes(data[: int(keep * len(data))])


def edit_header(folder: pathlib.Path, change) -> None:
    shard = first_shard(folder)
    data = shard.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header, header[next(k for k in header if k != "__metadata__")])
    text = json.dumps(header).encode()
    shard.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


def edit_config(folder: pathlib.Path, **fields) -> None:
    config = json.loads((folder / "config.json").read_text()) | fields
    (folder / "config.json").write_text(json.dumps(config))


Q = "model.layers.0.self_attn.q_proj.weight"
DAMAGES = {
    "no folder": (lambda f: shutil.rmtree(f), "config.json"),
    "no configuration": (lambda f: (f / "config.json").unlink(), "config.json"),
    "configuration cut": (lambda f: (f / "config.json").write_text('{"model_type": "lla'), "config.json"),
    "architecture": (lambda f: edit_config(f, model_type="gpt2", architectures=["GPT2LMHeadModel"]), "'GPT2LMHeadModel' of type 'gpt2' is not supported"),
    "no weights": (lambda f: [p.unlink() for p in f.glob("*.safetensors*")], "has no weights"),
    "missing shard": (lambda f: first_shard(f).unlink(), "model-00001"),
    "truncated shard": (lambda f: cut(f, 0.7), "model-00001"),
    "header cut": (lambda f: cut(f, 0.001), "model-00001"),
    "empty shard": (lambda f: first_shard(f).write_bytes(b""), "model-00001"),
    "header's length lies": (lambda f: first_shard(f).write_bytes(b"\xff" * 4 + first_shard(f).read_bytes()[4:]), "model-00001"),
    "offset past the end": (lambda f: edit_header(f, lambda h, t: t["data_offsets"].__setitem__(1, 1 << 60)), "model-00001"),
    "dtype that does not fit the bytes": (lambda f: edit_header(f, lambda h, t: t.__setitem__("dtype", "F32")), "model-00001"),
    "shape that does not fit the bytes": (lambda f: edit_header(f, lambda h, t: t["shape"].append(7)), "model-00001"),
    "wrong shape": (lambda f: damage(f, Q, lambda t: t[:-1].clone()), f"{Q} has shape [47, 48], [48, 48] is expected"),
    "wrong dtype": (lambda f: damage(f, Q, lambda t: t.to(torch.int8)), f"{Q} is int8"),
    "other sizes than the configuration's": (lambda f: edit_config(f, num_hidden_layers=3), "model.layers.2.input_layernorm.weight is missing"),
    "NaN": (lambda f: damage(f, Q, with_value(float("nan"))), f"element {3 * 48 + 5} of {Q} is NaN or infinite"),
    "infinity": (lambda f: damage(f, Q, with_value(float("-inf"))), f"element {3 * 48 + 5} of {Q} is NaN or infinite"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_folders_are_refused(program, good, tmp_path, name):
    change, message = DAMAGES[name]
    folder = tmp_path / "model"
    shutil.copytree(good, folder)
    assert program(load=folder) is None
    change(folder)
    error = program(load=folder, save=tmp_path / "saved")
    assert error is not None and message in error and str(folder) in error
    assert not (tmp_path / "saved").exists()


def test_values_that_a_narrower_dtype_cannot_hold(program, good, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(good, folder)
    damage(folder, Q, with_value(1e6))
    assert program(load=folder) is None
    error = program(load=folder, dtype="float16")
    assert "q_proj.weight" in error and "too large for float16" in error
