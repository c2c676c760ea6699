"""./tritogen serve with a small random model, as its users meet it."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request

import openai
import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from .conftest import ROOT

BINARY = pathlib.Path(os.environ.get("TRITOGEN_BINARY", ROOT / "build/release/tritogen"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("model") / "tiny-qwen3"
    torch.manual_seed(1)
    config = Qwen3Config(vocab_size=1507, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, head_dim=16, max_position_embeddings=512, initializer_range=0.3,
                         bos_token_id=None, eos_token_id=None)  # fmt: skip
    Qwen3ForCausalLM(config).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    shutil.copy(ROOT / "tests/golden/tokenizers/qwen3.json", folder / "tokenizer.json")
    shutil.copy(ROOT / "tests/golden/chat/qwen3.jinja", folder / "chat_template.jinja")
    return folder


def start(*arguments: object, **environment: str) -> subprocess.Popen:
    environment = {**os.environ, "TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable, **environment}
    return subprocess.Popen([BINARY, "serve", *map(str, arguments)], env=environment, text=True, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def served(folder):
    """The base URL of a running server; it must end well."""
    process = start("--model", folder, "--device", "cpu", "--port", 0, "--api-key-env", "THE_KEY", THE_KEY="k")
    line = process.stderr.readline()
    assert "tiny-qwen3 at http://127.0.0.1:" in line and "context 512" in line, line
    yield re.search(r"http://\S+/v1", line)[0]
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=20)
    assert process.returncode == 0 and rest == "tritogen serve: stopped\n"


@pytest.fixture
def client(served):
    return openai.OpenAI(base_url=served, api_key="k", max_retries=0, timeout=60)


def test_greedy_tokens_are_those_of_transformers(client, folder):
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompt = [5, 600, 70, 8]
    with torch.no_grad():
        theirs = model.generate(torch.tensor([prompt]), max_new_tokens=24, do_sample=False, pad_token_id=0)[0, 4:].tolist()
        logprobs = model(torch.tensor([prompt])).logits[0, -1].log_softmax(-1)
    reply = client.completions.create(model="tiny-qwen3", prompt=prompt, max_tokens=24, temperature=0, logprobs=1,
                                      extra_body={"skip_special_tokens": False})  # fmt: skip
    spelled = reply.choices[0].logprobs.tokens
    assert spelled == spelling(folder, theirs)
    assert abs(reply.choices[0].logprobs.token_logprobs[0] - logprobs[theirs[0]].item()) < 1e-3


def spelling(folder: pathlib.Path, ids: list[int]) -> list[str]:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    decoder = {character: byte for byte, character in byte_characters().items()}
    texts = []
    for token in tokenizer.convert_ids_to_tokens(ids):
        data = bytes(decoder[c] for c in token) if all(c in decoder for c in token) else token.encode()
        try:
            texts.append(data.decode())
        except UnicodeDecodeError:
            texts.append("bytes:" + "".join(f"\\x{byte:02x}" for byte in data))
    return texts


def byte_characters() -> dict[int, str]:
    """GPT-2's alphabet of bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}


def test_chats_stream_and_seeds_hold_in_company(client):
    options = {"model": "tiny-qwen3", "messages": [{"role": "user", "content": "größer?"}], "seed": 5, "max_tokens": 40}
    alone = client.chat.completions.create(**options, n=2)
    texts = {}

    def ask(i: int) -> None:
        stream = client.chat.completions.create(**options | {"n": 2 if i == 0 else 1, "seed": 5 + i}, stream=True)
        for chunk in stream:
            choice = chunk.choices[0]
            texts[i, choice.index] = texts.get((i, choice.index), "") + (choice.delta.content or "")

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [texts[0, i] for i in range(2)] == [choice.message.content for choice in alone.choices]
    assert len(set(texts.values())) == 7


def test_what_the_engine_limits(client, served):
    with pytest.raises(openai.BadRequestError) as raised:
        client.completions.create(model="tiny-qwen3", prompt=[1] * 512)
    assert raised.value.body["code"] == "context_length_exceeded"
    reply = client.completions.create(model="tiny-qwen3", prompt=[1] * 500, max_tokens=400)
    assert reply.usage.total_tokens == 512 and reply.choices[0].finish_reason == "length"
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=served, api_key="wrong").models.list()


def test_a_client_that_leaves(client, served):
    for chunk in client.completions.create(model="tiny-qwen3", prompt="a", max_tokens=500, n=8, stream=True):
        break
    client.close()
    with urllib.request.urlopen(served.replace("/v1", "/health"), timeout=10) as reply:
        assert json.load(reply) == {"status": "ok"}


@pytest.mark.parametrize("arguments, words", [
    (["--model", "/no/such/folder"], "/no/such/folder"),
    (["--model", "{folder}", "--api-key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
    (["--model", "{folder}", "--host", "example"], "expected an IP address"),
    (["--model", "{folder}", "--port", "70000"], "--port"),
    (["--model", "{folder}", "--max-body", "much"], "--max-body"),
])  # fmt: skip
def test_wrong_use(folder, arguments, words):
    process = start(*(argument.format(folder=folder) for argument in arguments), "--device", "cpu")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2 and words in said, said


def test_a_port_that_is_taken(folder, served):
    port = re.search(r":(\d+)/", served)[1]
    process = start("--model", folder, "--device", "cpu", "--port", port)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2 and f"port {port}" in said and "in use" in said
