"""The built program beside an endpoint that does what a test tells it to."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from .server import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TRITOGEN_BINARY", ROOT / "build/release/tritogen"))
KEY = "sk-very-secret-4711"

REFERENCE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return []
"""

CODE = """import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):  # größer als null
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0) * 2.0, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = out.numel()
        relu_twice[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
        return out
"""
ANSWER = f"""<think>Step 1: Access pattern. Elements in order.
Step 2: Launch. 256 elements a program.
Step 3: Load, compute, store. One load, one store.
Step 4: Wrapper. Allocates the result.</think>
Here it is:

```python
{CODE}```
"""


class Run:
    """A finished convert: its process, its report, the cost log's lines."""

    def __init__(self, process: subprocess.CompletedProcess, folder: pathlib.Path) -> None:
        self.process = process
        self.report = json.loads(process.stdout) if process.stdout.startswith("{") else None
        log = folder / "cost.jsonl"
        self.log = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        self.everything = process.stdout + process.stderr + (log.read_text() if log.exists() else "")

    @property
    def verdicts(self) -> list[str]:
        return [one["verdict"]["verdict"] for one in self.report["candidates"] if one["proposer"] == "remote"]

    @property
    def remarks(self) -> str:
        return "\n".join(self.report["remarks"])


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def endpoint():
    """Starts scripted endpoints; ends them with the test."""
    servers = []

    def start(*script) -> Server:
        servers.append(Server(script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def start_convert(tmp_path, cache):
    """Starts convert with a remote proposer and gives the process."""
    (tmp_path / "program.py").write_text(REFERENCE)

    def start(url: str, *options: str, count: int = 1, key: str = KEY) -> subprocess.Popen:
        environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        environment |= {"TRITOGEN_ROOT": str(ROOT), "TRITOGEN_PYTHON": sys.executable, "TRITOGEN_CACHE": str(cache),
                        "OPENAI_API_KEY": key}  # fmt: skip
        command = [str(BINARY), "convert", "program.py", "-o", "out.py", "--seed", "5", "--proposer", f"remote:{url}",
                   "--model", "m", "--candidates", str(count), "--retry-wait", "0.05", "--json",
                   "--html", "report.html", *options]  # fmt: skip
        if "--cost-log" not in options:
            command += ["--cost-log", "cost.jsonl"]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)  # fmt: skip

    return start


@pytest.fixture
def convert(start_convert, tmp_path):
    def run(url: str, *options: str, timeout: float = 240, **more) -> Run:
        process = start_convert(url, *options, **more)
        output, error = process.communicate(timeout=timeout)
        return Run(subprocess.CompletedProcess(process.args, process.returncode, output, error), tmp_path)

    return run
