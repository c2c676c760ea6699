"""A small random Qwen3 as a model folder, and the built program."""

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


def make_model(folder: pathlib.Path, seed: int, **changes) -> pathlib.Path:
    torch.manual_seed(seed)
    sizes = dict(vocab_size=2048, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, head_dim=16, max_position_embeddings=4096, initializer_range=0.3,
                 bos_token_id=None, eos_token_id=None)  # fmt: skip
    Qwen3ForCausalLM(Qwen3Config(**sizes | changes)).save_pretrained(folder)
    shutil.copy(GOLDEN / "tokenizers/qwen3.json", folder / "tokenizer.json")
    return folder


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory) -> pathlib.Path:
    folder = make_model(tmp_path_factory.mktemp("model") / "tiny-qwen3", seed=1)
    shutil.copy(GOLDEN / "chat/qwen3.jinja", folder / "chat_template.jinja")
    return folder


@pytest.fixture(scope="session")
def transformer(model_folder) -> Qwen3ForCausalLM:
    return Qwen3ForCausalLM.from_pretrained(model_folder, dtype=torch.float32).eval()


def start(*arguments: str, cwd: pathlib.Path) -> subprocess.Popen:
    environment = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable}
    return subprocess.Popen([str(BINARY), *map(str, arguments)], cwd=cwd, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


@pytest.fixture
def generate(tmp_path, model_folder):
    """Runs `generate` on the model's folder; gives the exit code, stdout and stderr."""

    def run(*arguments: str, model: pathlib.Path = model_folder) -> tuple[int, str, str]:
        process = start("generate", "--model", model, "--device", "cpu", *arguments, cwd=tmp_path)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    return run
