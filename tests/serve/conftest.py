"""The server over a Generator without a model (tests/serve/double_server.cc), as a process of its own."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import openai
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TRITOGEN_SERVE_DOUBLE", ROOT / "build/release/serve_double"))
GREEDY = "the quick 🦊 jumps über the lazy dog "  # what the double writes at temperature 0


class Server:
    """A running server and what can be seen of it from outside."""

    def __init__(self, *options: object) -> None:
        self.process = subprocess.Popen(
            [BINARY, ROOT / "tests/golden/tokenizers/qwen3.json", ROOT / "tests/golden/chat/qwen3.jinja",
             *map(str, options)], stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    def client(self, **options) -> openai.OpenAI:
        return openai.OpenAI(base_url=self.url + "/v1", **{"api_key": "none", "max_retries": 0, "timeout": 20} | options)

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else 0.0

    def open_sequences(self) -> int:
        return sum(int(self.metric(f"tritogen_sequences_{kind}")) for kind in ("open", "running", "waiting"))

    def wait_for_sequences(self, count: int, seconds: float = 10) -> None:
        """Until so many have been given to the engine and not ended."""
        end = time.monotonic() + seconds
        while self.metric("tritogen_sequences_open") < count:
            assert time.monotonic() < end
            time.sleep(0.02)

    def wait_for_metric(self, name: str, value: float, seconds: float = 10) -> None:
        end = time.monotonic() + seconds
        while self.metric(name) != value:
            assert time.monotonic() < end, f"{name} is {self.metric(name)}, not {value}"
            time.sleep(0.02)

    def wait_until_idle(self, seconds: float = 10) -> None:
        end = time.monotonic() + seconds
        while self.open_sequences() > 0:
            assert time.monotonic() < end, f"{self.open_sequences()} sequences are still there"
            time.sleep(0.05)

    def memory(self) -> int:
        """Resident bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def connect(self, receive_buffer: int = 0) -> socket.socket:
        connection = socket.socket()
        connection.settimeout(10)
        if receive_buffer:  # bytes
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def talk(self, request: bytes) -> bytes:
        """Sends bytes as they are; gives all that comes until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_all(connection)

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()


def read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def post(body: bytes | str, path: str = "/v1/completions", headers: str = "") -> bytes:
    """A request as bytes."""
    body = body.encode() if isinstance(body, str) else body
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + headers.encode() + b"\r\n" + body


@pytest.fixture
def start():
    """Starts servers; after the test each must end at SIGTERM."""
    servers = []

    def run(*options: object) -> Server:
        servers.append(Server(*options))
        return servers[-1]

    yield run
    for server in servers:
        if server.process.poll() is None:
            assert server.stop() == 0


@pytest.fixture(scope="module")
def server():
    """One for all tests of a file that leave nothing behind."""
    shared = Server("--step", 0.002)
    yield shared
    shared.wait_until_idle()
    assert shared.stop() == 0


@pytest.fixture
def client(server):
    return server.client()
