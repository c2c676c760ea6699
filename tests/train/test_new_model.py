"""`tritogen new-model`: the folder is a model for transformers, too, with equal ids and equal logits, and `generate` runs it."""

import json
import os
import pathlib
import random
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TRITOGEN_BINARY", str(ROOT / "build/release/tritogen"))
LOGITS = os.environ.get("MODEL_LOGITS", str(ROOT / "build/release/model_logits"))
ENVIRONMENT = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable}

SOURCES = sorted((ROOT / "worker").glob("*.py"))[:6]
CODE = [path.read_text()[:4000] for path in SOURCES]
TALKS = [[dict(role="user", content=code[:300]), dict(role="assistant", content=f"1. Access pattern: {i * 37} elements.\n\n```python\n{code}```")]
         for i, code in enumerate(CODE)]  # fmt: skip
TEXTS = CODE + ["", " ", "\n\n\n\tx", "a_b.c@d  = 1024*3 # é 漢字 \U0001f600\r\n\r\n  y", "<|user|>a<|end|>b", "ﬁ Å ½ ٣", "x" * 300, "don't  stop\u00a0"]
ALPHABET = [" ", "  ", "\n", "\r\n", "\t", "    ", "x", "relu", "_", "__", ".", "@", "12", "٣", "é", "漢", "(", ")", ",", ":", "=", "```", "\u00a0", "½", "\U0001f600"]
TEXTS += ["".join(random.Random(seed).choices(ALPHABET, k=30)) for seed in range(200)]
SIZES = ["--vocabulary", 700, "--context", 1024, "--hidden", 48, "--layers", 2, "--heads", 4, "--kv-heads", 2, "--head-dim", 16,
         "--intermediate", 80]  # fmt: skip


def run(*arguments, code=0):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "talks.jsonl"
    path.write_text("".join(json.dumps(dict(messages=talk)) + "\n" for talk in TALKS))
    return path


@pytest.fixture(scope="module")
def folder(data):
    folder = data.parent / "model"
    out = run("new-model", "--data", data, "--out", folder, *SIZES).stdout
    assert f"{len(TALKS)} lines" in out and "tokens of code" in out
    return folder


@pytest.fixture(scope="module")
def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder)


def test_ids_and_chats_are_those_of_transformers(folder, tokenizer, tmp_path):
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|end|>", "<|endoftext|>")
    prompts = tmp_path / "prompts.jsonl"
    lines = [dict(id=str(i), prompt=text) for i, text in enumerate(TEXTS) if text]
    lines += [dict(id=f"chat {i}", messages=talk[:1]) for i, talk in enumerate(TALKS)]
    prompts.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = run("generate", "--model", folder, "--device", "cpu", "--prompts", prompts, "--max-tokens", 1, "--temperature", 0, "--json").stdout
    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines())}
    for line in lines:
        ids = tokenizer.apply_chat_template(line["messages"], add_generation_prompt=True, return_dict=False) if "messages" in line else tokenizer(line["prompt"])["input_ids"]
        assert answers[line["id"]]["prompt_tokens"] == len(ids), line
        assert "messages" in line or tokenizer.decode(ids) == line["prompt"] or "Å" in line["prompt"]
    again = tokenizer.apply_chat_template(TALKS[0] + TALKS[1], tokenize=False)
    assert again == "".join(f"<|{m['role']}|>{m['content']}" + "<|end|>" * (m["role"] == "assistant") for m in TALKS[0] + TALKS[1])


def test_logits_are_those_of_transformers(folder, tokenizer, tmp_path):
    ids = torch.tensor([tokenizer(CODE[0])["input_ids"][:200]])
    request = dict(load=str(folder), dtype="float32", tokens=ids.tolist(), logits=str(tmp_path / "logits"))
    done = subprocess.run([LOGITS], input=json.dumps(request) + "\n", capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout).get("error") is None
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        assert (load_file(tmp_path / "logits")["logits"] - model(ids).logits).abs().max() <= 1e-4
    assert model.config.eos_token_id == tokenizer.eos_token_id


def test_wrong_use(data, folder, tmp_path):
    assert "holds a model already" in run("new-model", "--data", data, "--out", folder, *SIZES, code=2).stderr
    assert "nowhere" in run("new-model", "--data", tmp_path / "nowhere", "--out", tmp_path / "m", code=2).stderr
    (tmp_path / "bad.jsonl").write_text(json.dumps(dict(messages=TALKS[0])) + "\n{\n")
    assert "bad.jsonl, line 2" in run("new-model", "--data", tmp_path / "bad.jsonl", "--out", tmp_path / "m", code=2).stderr
    assert not (tmp_path / "m").exists()
