"""Raw sockets: what is no HTTP, too much of it, too slow, or several at once."""

import json
import socket
import statistics
import time

import pytest

from .conftest import post, read_all

GOOD = '{"prompt": "a", "max_tokens": 2}'


def status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


def error(reply: bytes) -> dict:
    return json.loads(reply.split(b"\r\n\r\n", 1)[1])["error"]


@pytest.mark.parametrize("request_bytes", [
    b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00\xff\xfe\r\n\r\n", b"GET / HTTP/1.1\r\nNo colon\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"GET /health HTTP/1.1\r\nA: b\x01\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS\r\n\r\n",
])  # fmt: skip
def test_what_is_no_http_is_refused(server, request_bytes):
    reply = server.talk(request_bytes)
    assert status(reply) == 400 and error(reply)["code"] == "bad_http"
    assert b"Connection: close" in reply


def test_bodies_that_are_no_json(server):
    for body in (b"", b"{", b"\xff\xfe", b'{"prompt": "\xc3("}', b"[" * 100000, b'{"a":' * 50000, b"{}" * 3):
        reply = server.talk(post(body, headers="Connection: close\r\n"))
        assert status(reply) == 400 and error(reply)["code"] in ("invalid_json", None), reply


def test_routes_and_methods(server):
    for line, wanted in {"GET /": 404, "GET /v1/completions": 405, "DELETE /health": 405, "POST /metrics": 405,
                         "GET /v1/../health": 404, "BREW /health": 405, "GET /health?x=1": 200,
                         "GET http://x/health": 404, "OPTIONS *": 404}.items():  # fmt: skip
        reply = server.talk(f"{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert status(reply) == wanted, line
    assert b"Allow: GET, HEAD\r\n" in server.talk(b"DELETE /health HTTP/1.1\r\nConnection: close\r\n\r\n")
    # A page in a browser could send this without asking.
    plain = post(GOOD).replace(b"application/json", b"text/plain")
    assert status(server.talk(plain.replace(b"Host: x", b"Connection: close"))) == 415
    longer = post(GOOD, headers="Connection: close\r\n").replace(b"application/json", b"application/jsonp")
    assert status(server.talk(longer)) == 415


def test_types_in_either_case(server):
    written = post(GOOD, headers="Connection: close\r\n").replace(b"application/json", b"Application/JSON; charset=utf-8")
    assert status(server.talk(written)) == 200


@pytest.mark.parametrize("path", ["/health", "/metrics", "/v1/models"])
def test_head_is_get_without_a_body(server, path):
    """What monitors and load balancers ask."""
    requests = "".join(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{more}\r\n"
                       for method, more in (("HEAD", ""), ("GET", "Connection: close\r\n")))  # fmt: skip
    head, whole = server.talk(requests.encode()).split(b"HTTP/1.1 ")[1:]
    assert status(b"HTTP/1.1 " + head) == 200 and head.endswith(b"\r\n\r\n")
    assert whole.split(b"\r\n\r\n", 1)[1]
    if path != "/metrics":  # which counts
        assert head.split(b"Connection")[0] == whole.split(b"Connection")[0]
    assert status(server.talk(f"HEAD /v1/completions HTTP/1.1\r\nConnection: close\r\n\r\n".encode())) == 405


def test_huge_headers(server):
    for header in (b"A: " + b"x" * 100_000, b"\r\n".join(b"A%d: b" % i for i in range(10_000))):
        reply = server.talk(b"GET /health HTTP/1.1\r\n" + header + b"\r\n\r\n")
        assert status(reply) == 431
    assert status(server.talk(b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n")) == 431


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_100_mb_is_not_read_into_memory(server, chunked):
    before = server.memory()
    head = "Transfer-Encoding: chunked\r\n" if chunked else f"Content-Length: {100 << 20}\r\n"
    with server.connect() as connection:
        head = "POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\n" + head
        connection.sendall(head.encode() + b"\r\n")
        block = b"x" * (1 << 20)
        try:
            for _ in range(100):
                connection.sendall(b"100000\r\n" + block + b"\r\n" if chunked else block)
        except OSError:
            pass  # it has heard enough
        reply = read_all(connection)
    assert status(reply) == 413 and error(reply)["code"] == "body_too_large"
    assert server.memory() < before + (30 << 20)


def test_a_body_at_the_limit_is_read(start):
    server = start("--max-body", 1000)
    body = GOOD + " " * (1000 - len(GOOD))
    assert status(server.talk(post(body, headers="Connection: close\r\n"))) == 200
    assert status(server.talk(post(body + " "))) == 413


def test_expect_continue(server):
    with server.connect() as connection:
        head, body = post(GOOD, headers="Expect: 100-continue\r\nConnection: close\r\n").split(b"\r\n\r\n")
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert status(read_all(connection)) == 200


def test_chunked_bodies(server):
    parts = [GOOD[:5], GOOD[5:]]
    body = "".join(f"{len(part):x}\r\n{part}\r\n" for part in parts) + "0\r\n\r\n"
    head = "POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    assert status(server.talk((head + body).encode())) == 200


def test_pipelined_requests_are_answered_in_order(server):
    one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /nope HTTP/1.1\r\nConnection: close\r\n\r\n"
    reply = server.talk(one + post(GOOD) + one + last)
    assert [int(part.split(b" ", 1)[0]) for part in reply.split(b"HTTP/1.1 ")[1:]] == [200, 200, 200, 404]


def test_http_1_0_gets_no_chunks(server):
    body = '{"prompt": "a", "max_tokens": 3, "stream": true}'
    reply = server.talk(post(body).replace(b"HTTP/1.1", b"HTTP/1.0"))
    head, events = reply.split(b"\r\n\r\n", 1)
    assert b"chunked" not in head and events.startswith(b"data: {") and events.endswith(b"data: [DONE]\n\n")


def test_connections_are_kept(server):
    with server.connect() as connection:
        for _ in range(3):
            connection.sendall(post("{}"))  # refused ones, too
            assert b"keep-alive" in connection.recv(65536)
            connection.sendall(post(GOOD))
            assert status(connection.recv(65536)) == 200


def test_slow_requests_block_nobody_and_end(start):
    """Slow loris: a hundred requests that never end, a byte now and then."""
    server = start("--header-seconds", 1)
    slow = [server.connect() for _ in range(100)]
    half = post(GOOD)[:-10]
    for i, connection in enumerate(slow):
        connection.sendall(half if i % 2 else b"GET /health HTTP/1.1\r\nA: ")
    end, took = time.monotonic() + 1.6, []
    while time.monotonic() < end:
        begin = time.monotonic()
        assert status(server.talk(post(GOOD, headers="Connection: close\r\n"))) == 200
        took.append(time.monotonic() - begin)
        for connection in slow[::2]:
            try:
                connection.sendall(b"x")
            except OSError:
                pass
        time.sleep(0.1)
    assert statistics.median(took) < 0.9  # of the second that a slow one has
    # However slowly they drip, headers have had their second. Bodies have a minute.
    assert server.metric("tritogen_connections") <= 51
    for connection in slow:
        connection.close()


def test_a_client_that_leaves_ends_its_sequences(start):
    server = start("--step", 0.01, "--slots", 8)
    for stream in ("false", "true"):
        body = f'{{"prompt": "a", "max_tokens": 1500, "n": 4, "stream": {stream}}}'
        connections = [server.connect() for _ in range(4)]
        for connection in connections:
            connection.sendall(post(body))
        server.wait_for_sequences(16)
        server.wait_for_metric("tritogen_sequences_running", 8)  # the engine takes them from its inbox in its own time
        server.wait_for_metric("tritogen_sequences_waiting", 8)
        connections[0].shutdown(socket.SHUT_WR)
        for connection in connections[1:]:
            connection.close()
        server.wait_until_idle()
        connections[0].close()
    assert server.metric('tritogen_requests_total{endpoint="/v1/completions",status="499"}') == 4
    assert server.metric('tritogen_requests_total{endpoint="/v1/completions",status="200"}') == 4
