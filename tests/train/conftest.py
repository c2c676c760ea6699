"""A small random Qwen2, conversations to learn, and the built program."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TRITOGEN_BINARY", ROOT / "build/release/tritogen"))
GOLDEN = ROOT / "tests/golden"

CONFIG = """
[model]
from = "{model}"
[data]
data = ["{data}"]
longest = 128
{data_keys}
[train]
batch_tokens = 256
accumulation = 2
steps = {steps}
lr = 3e-3
warmup = 2
dtype = "{dtype}"
{train_keys}
[eval]
batches = {batches}
[save]
{save_keys}
[log]
every = 1
"""


def make_model(folder: pathlib.Path, **keys) -> pathlib.Path:
    torch.manual_seed(1)
    sizes = {"vocab_size": 1536, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    config = Qwen2Config(**{**sizes, **keys}, num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=256,
                         tie_word_embeddings=True, bos_token_id=None, eos_token_id=1502)  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(folder)
    shutil.copy(GOLDEN / "tokenizers/qwen3.json", folder / "tokenizer.json")
    shutil.copy(GOLDEN / "chat/qwen2.jinja", folder / "chat_template.jinja")
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> pathlib.Path:
    return make_model(tmp_path_factory.mktemp("model") / "tiny-qwen2")


def conversations() -> list:
    draw = random.Random(7)
    rows = []
    for number in range(64):
        words = [draw.choice(["load", "store", "mask", "grid", "sum"]) for _ in range(draw.randint(2, 6))]
        answer = "Plan: " + " ".join(reversed(words)) + ".\n```python\nx = " + str(len(words)) + "\n```"
        rows.append([{"role": "user", "content": f"{number}: " + " ".join(words)}, {"role": "assistant", "content": answer}])
    return rows


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("data") / "rows.jsonl"
    path.write_text("".join(json.dumps({"messages": row}) + "\n" for row in conversations()))
    return path


@pytest.fixture
def config(tmp_path, model, data):
    """Writes a configuration; keys that are not given have values that train in a second."""

    def write(name="sft.toml", **keys) -> pathlib.Path:
        values = {"model": model, "data": data, "steps": 12, "batches": 2, "dtype": "fp32", "data_keys": "", "train_keys": "",
                  "save_keys": "", **keys}  # fmt: skip
        path = tmp_path / name
        path.write_text(CONFIG.format(**values))
        return path

    return write


def start(*arguments, environment=(), **options) -> subprocess.Popen:
    # One thread: others would mostly wait for each other over tensors this small.
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable, **dict(environment)}
    return subprocess.Popen([str(BINARY), "sft", "--device", "cpu", *map(str, arguments)], env=variables, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # fmt: skip


def sft(*arguments, **options) -> subprocess.CompletedProcess:
    process = start(*arguments, **options)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def lines(out: pathlib.Path) -> list:
    path = out / "log.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")] if path.exists() else []
