"""data build with a model behind it: what stages ask, and what becomes of the answers."""

import json
import os
import re
import subprocess
import sys

import pytest

from .conftest import BINARY, KEY, ROOT

CONFIG = """
seed = 3
shard_programs = 4
[programs]
sizes = "common"
max_elements = 4096
[[level]]
level = 1
programs = 1
operators = "relu"
[teacher]
name = "{name}"
answers = 1
strict = true
[[stage]]
name = "augment"
copies = 1
[[stage]]
name = "rewrite"
[[stage]]
name = "explain"
[[stage]]
name = "difficulty"
"""

STEPS = "Step 1: Access pattern. Rows.\nStep 2: Launch. Blocks.\nStep 3: Load, compute, store. Once.\nStep 4: Wrapper. Allocates."


def answer(reply, request):
    """What each prompt asks for; code is that of the prompt, with another comment."""
    prompt = request.body["messages"][-1]["content"]
    if "How hard is" in prompt:
        reply.whole("<think>one operation</think>1")
    elif "Write the request that" in prompt:
        reply.whole("Apply the activation to a tensor.")
    elif "Write the reasoning" in prompt:
        reply.whole(STEPS)
    elif "Rewrite it so that" in prompt:
        code = re.findall(r"```python\n(.*?)```", prompt, re.S)[1]
        reply.whole(f"```python\n# rewritten\n{code}```")
    else:
        reply.whole("I would rather not.")


@pytest.fixture
def build(tmp_path, cache):
    def run(name: str) -> subprocess.CompletedProcess:
        (tmp_path / "data.toml").write_text(CONFIG.format(name=name))
        environment = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
        environment |= {"TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable, "TRITOGEN_CACHE": str(cache),
                        "OPENAI_API_KEY": KEY}  # fmt: skip
        command = [str(BINARY), "data", "build", "--config", "data.toml", "--out", "set", "--device", "cpu",
                   "--model", "m", "--retries", "1", "--retry-wait", "0.05"]  # fmt: skip
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)

    return run


def records(tmp_path) -> list[dict]:
    lines = []
    for shard in sorted((tmp_path / "set").glob("*.zst")):
        lines += subprocess.run(["zstd", "-dcq", shard], capture_output=True, check=True).stdout.decode().splitlines()
    return [json.loads(line) for line in lines]


def test_compiled_rewritten_and_explained(endpoint, build, tmp_path):
    server = endpoint(answer)
    finished = build(f"inductor + remote:{server.url}")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    found = records(tmp_path)
    text = finished.stdout + finished.stderr
    assert {one["teacher"] for one in found} == {"inductor"}, text
    rewritten = [one for one in found if one["strategy"].endswith(", rewritten")]
    assert rewritten and all("# rewritten" in one["source"] for one in rewritten), text
    assert any(one["labels"].get("augmented") for one in found), text
    for one in found:
        assert one["verdict"] == "passed"
        assert one["labels"]["difficulty"] == 1 and one["labels"]["difficulty_model"] == 1
        assert one["labels"]["instruction"] == "Apply the activation to a tensor."
        assert one["thoughts"] == STEPS
    assert "no answer: no_code" in finished.stdout  # the remote model's own tries
    assert KEY not in text and not any(KEY in json.dumps(one) for one in found)


def test_an_endpoint_that_sends_only_garbage_makes_no_empty_set(endpoint, build, tmp_path):
    server = endpoint(lambda reply, request: reply.body("<html>Sign in</html>", content_type="text/html"))
    finished = build(f"remote:{server.url}")
    assert finished.returncode == 2 and "Sign in" in finished.stderr, finished.stderr
    assert not (tmp_path / "set" / "manifest.json").exists() and not list((tmp_path / "set").glob("*.zst"))


def test_an_endpoint_that_is_out_ends_the_build_and_it_goes_on_later(endpoint, build, tmp_path):
    state = {"out": True}

    def sometimes(reply, request):
        reply.refuse("503 Service Unavailable", "full") if state["out"] else answer(reply, request)

    server = endpoint(sometimes)
    finished = build(f"remote:{server.url}")
    assert finished.returncode == 2 and "HTTP 503: full" in finished.stderr, finished.stderr
    assert finished.stderr.strip().count("\n") <= 1 and not list((tmp_path / "set").glob("*.zst"))
    state["out"] = False
    finished = build(f"remote:{server.url}")
    assert finished.returncode == 0, finished.stderr
    assert "no answer: no_code" in finished.stdout and "finished" in finished.stdout
