"""Two hundred clients at once, some of whom misbehave; and the end in the middle of it."""

import asyncio
import json
import random
import signal
import threading
import time

import openai
import pytest

from .conftest import post, read_all

TOKENS = 40
BODY = json.dumps({"prompt": "a", "max_tokens": TOKENS, "seed": 1, "stream": True})


async def good_client(client: openai.AsyncOpenAI) -> str:
    text = ""
    stream = await client.completions.create(model="double", prompt="a", max_tokens=TOKENS, seed=1, stream=True)
    async for chunk in stream:
        text += chunk.choices[0].text
    return text


async def reader(port: int, pause: float) -> str:
    """Reads all, a little at a time when there are pauses."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(post(BODY, headers="Connection: close\r\n"))
    text = ""
    while part := await reader.read(500 if pause else 5000):
        text += part.decode(errors="replace")
        await asyncio.sleep(pause)
    writer.close()
    return text


def length_of(reply: str) -> int:
    """Characters of a streamed completion."""
    events = [line[6:] for line in reply.splitlines() if line.startswith("data: {")]
    return sum(len(json.loads(event)["choices"][0]["text"]) for event in events)


async def quitter(port: int, after: int) -> None:
    """Leaves in the middle."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(post(BODY.replace(str(TOKENS), "1500")))
    if after > 0:
        await reader.readexactly(after)
    writer.transport.abort()


async def load(port: int, rounds: int) -> list:
    results = []
    async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="x", max_retries=0, timeout=30) as client:
        for _ in range(rounds):
            clients = [good_client(client) for _ in range(40)]
            clients += [reader(port, pause) for pause in [0] * 80 + [0.02] * 40]
            clients += [quitter(port, after) for after in range(0, 4000, 100)]
            random.Random(5).shuffle(clients)
            results += await asyncio.gather(*clients)
    return [result for result in results if result is not None]


def test_two_hundred_streams(start):
    server = start("--step", 0.005, "--slots", 64, "--max-queue", 400)
    asyncio.run(load(server.port, 1))
    server.wait_until_idle()
    memory = server.memory()
    results = asyncio.run(load(server.port, 2))
    server.wait_until_idle()
    texts = {text for text in results if not text.startswith("HTTP")}
    assert len(texts) == 1 and len(texts.pop()) == TOKENS  # all good clients got all, and the same
    streams = [text for text in results if text.startswith("HTTP/1.1 200")]
    assert len(streams) == 240 and all(length_of(text) == TOKENS and "[DONE]" in text for text in streams)
    begin = time.monotonic()
    assert len(server.client().completions.create(model="double", prompt="a", max_tokens=5).choices[0].text) == 5
    assert time.monotonic() - begin < 10  # no backlog of the clients that are gone
    assert server.metric("tritogen_connections") <= 3
    assert server.metric("tritogen_engine_requests_cancelled_total") >= 80
    assert server.memory() < memory + (8 << 20)


def test_who_does_not_read_is_given_up(start):
    """Sixteen streams that nobody reads: each may fill a buffer, then its sequences end. Another goes on."""
    server = start("--max-unsent", 50_000, "--step", 0.002, "--slots", 100, "--context", 100_000_000)
    body = json.dumps({"prompt": "a", "n": 4, "max_tokens": 50_000_000, "stream": True, "logprobs": 5})
    memory = server.memory()
    deaf = [server.connect(receive_buffer=4096) for _ in range(16)]
    for connection in deaf:
        connection.sendall(post(body))
    assert server.client().completions.create(model="double", prompt="a", max_tokens=300).usage.completion_tokens == 300
    server.wait_until_idle(10)
    assert server.metric("tritogen_engine_requests_cancelled_total") == 64
    assert server.memory() < memory + (40 << 20)
    for connection in deaf:
        connection.close()


def test_who_reads_too_slowly_is_given_up(start):
    server = start("--write-seconds", 0.5, "--max-unsent", 100 << 20, "--step", 0.001, "--context", 100_000_000)
    body = json.dumps({"prompt": "a", "n": 32, "max_tokens": 50_000_000, "stream": True, "logprobs": 5})
    with server.connect(receive_buffer=4096) as connection:
        connection.sendall(post(body))
        connection.recv(1000)
        server.wait_until_idle(10)
    assert server.metric("tritogen_engine_requests_cancelled_total") == 32


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_streams_finish(start, number):
    server = start("--step", 0.02)
    client = server.client()
    idle = server.connect()
    half = server.connect()
    half.sendall(b"GET /health HTTP/1.1\r\n")
    streams = [client.completions.create(model="double", prompt="a", max_tokens=100, stream=True) for _ in range(5)]
    server.process.send_signal(number)
    assert read_all(idle) == read_all(half) == b""  # closed at once
    assert server.get("/health")[0] == 503
    with pytest.raises(openai.InternalServerError) as raised:
        client.completions.create(model="double", prompt="a")
    assert raised.value.status_code == 503 and raised.value.body["code"] == "stopping"
    for stream in streams:
        choices = [chunk.choices[0] for chunk in stream]
        assert sum(len(choice.text) for choice in choices) == 100 and choices[-1].finish_reason == "length"
    assert server.process.wait(5) == 0


def test_what_takes_too_long_is_told(start):
    server = start("--step", 0.01, "--stop-seconds", 0.3)
    stream = server.client().completions.create(model="double", prompt="a", max_tokens=1500, stream=True)
    whole: list[Exception] = []

    def ask() -> None:
        try:
            server.client().completions.create(model="double", prompt="a", max_tokens=1500)
        except openai.APIStatusError as error:
            whole.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    server.wait_for_sequences(2)
    server.process.send_signal(signal.SIGTERM)
    with pytest.raises(openai.APIError, match="the server stopped"):
        list(stream)
    thread.join()
    assert whole[0].status_code == 503
    assert server.process.wait(5) == 1


def test_a_second_signal_ends_at_once(start):
    server = start("--step", 0.01)
    stream = server.client().completions.create(model="double", prompt="a", max_tokens=1500, stream=True)
    next(stream)
    server.process.send_signal(signal.SIGTERM)
    while server.get("/health")[0] != 503:
        time.sleep(0.02)
    assert server.process.poll() is None
    begin = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(10) == 1 and time.monotonic() - begin < 10  # the stream would go on for 15 s
