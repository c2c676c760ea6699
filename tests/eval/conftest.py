"""A small random Qwen3 as a model folder, and the built program."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TRITOGEN_BINARY", ROOT / "build/release/tritogen"))
GOLDEN = ROOT / "tests/golden"


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("model") / "tiny-qwen3"
    torch.manual_seed(1)
    config = Qwen3Config(vocab_size=2048, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2,
                         num_key_value_heads=1, head_dim=16, max_position_embeddings=4096, initializer_range=0.3,
                         bos_token_id=None, eos_token_id=None)  # fmt: skip
    Qwen3ForCausalLM(config).save_pretrained(folder)
    shutil.copy(GOLDEN / "tokenizers/qwen3.json", folder / "tokenizer.json")
    shutil.copy(GOLDEN / "chat/qwen3.jinja", folder / "chat_template.jinja")
    return folder


@pytest.fixture(scope="session")
def config(tmp_path_factory) -> pathlib.Path:
    """Of a small set: pointwise programs of few elements."""
    path = tmp_path_factory.mktemp("config") / "data.toml"
    path.write_text("""
[programs]
sizes = "4,8,16"
max_elements = 1024
max_rank = 2
test_share = 0.2
held_out = "relu>tanh"
[eval]
shapes = "5,6,7"
[[level]]
level = 1
programs = 10
operators = "relu,tanh,exp,neg,abs"
""")
    return path


@pytest.fixture(scope="session")
def environment(tmp_path_factory) -> dict[str, str]:
    cache = tmp_path_factory.mktemp("cache")
    return {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable, "TRITOGEN_CACHE": str(cache)}


@pytest.fixture
def start(tmp_path, environment):
    def run(*arguments) -> subprocess.Popen:
        return subprocess.Popen([str(BINARY), *map(str, arguments)], cwd=tmp_path, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip

    return run


@pytest.fixture
def tritogen(start):
    """Runs a command; gives its exit code, stdout and stderr."""

    def run(*arguments) -> tuple[int, str, str]:
        process = start(*arguments)
        out, err = process.communicate(timeout=240)
        return process.returncode, out, err

    return run


@pytest.fixture
def evaluate(tritogen, config):
    """Runs `eval` on the small configuration; gives the summary."""

    def run(*arguments) -> dict:
        code, out, err = tritogen("eval", "--json", "--config", config, "--device", "cpu", *arguments)
        assert code == 0, err
        return json.loads(out)

    return run
