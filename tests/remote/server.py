"""A scripted chat endpoint: each request is answered by the next function of a script, byte by byte if it likes."""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: dict
    at: float = field(default_factory=time.monotonic)


class Reply:
    """What an answer is written with. Text goes out as it is: an answer may be anything."""

    def __init__(self, connection: socket.socket, closed: threading.Event, ending: Callable[[], None]) -> None:
        """`ending` is called before an answer's last bytes go out: who has them may ask again at once."""
        self._connection = connection
        self._ending = ending
        self.closed = closed  # set when the test is over: what hangs may stop

    def send(self, data: bytes | str) -> None:
        self._connection.sendall(data if isinstance(data, bytes) else data.encode())

    def head(self, status: str = "200 OK", content_type: str = "text/event-stream", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join(lines) + "\r\n\r\n")

    def event(self, delta: dict | None = None, **members) -> str:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": members.pop("finish", None)}]
        return "data: " + json.dumps({"choices": choices, **members}, ensure_ascii=False) + "\n\n"

    def stream(self, text: str, *, piece: int = 7, finish: str = "stop", usage: tuple[int, int] | None = (100, 50)) -> None:
        """A well-behaved stream, cut into TCP segments at odd places."""
        events = [self.event({"role": "assistant", "content": ""})]
        events += [self.event({"content": text[i : i + piece]}) for i in range(0, len(text), piece)]
        events.append(self.event({}, finish=finish))
        if usage:
            events.append(self.event(usage={"prompt_tokens": usage[0], "completion_tokens": usage[1]}))
        events.append("data: [DONE]\n\n")
        self.head()
        data = "".join(events).encode()
        for start in range(0, len(data), 501):  # through characters of several bytes
            if start + 501 >= len(data):
                self._ending()
            self.send(data[start : start + 501])

    def whole(self, text: str, *, finish: str = "stop", content_type: str = "application/json", **message) -> None:
        body = {"choices": [{"index": 0, "message": {"content": text, **message}, "finish_reason": finish}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 50}}  # fmt: skip
        self.body(json.dumps(body), content_type=content_type)

    def body(self, text: str | bytes, status: str = "200 OK", content_type: str = "application/json", **headers) -> None:
        data = text if isinstance(text, bytes) else text.encode()
        self.head(status, content_type, Content_Length=str(len(data)), **headers)
        self._ending()
        self.send(data)

    def refuse(self, status: str, message: str, **headers: str) -> None:
        self.body(json.dumps({"error": {"message": message}}), status, **headers)

    def hang(self) -> None:
        self.closed.wait(60)

    def reset(self) -> None:
        """Closes the connection the rude way."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.close()


Script = Callable[[Reply, Request], None]


class Server:
    """`script`: what answers each request, in order of arrival; the last one answers all later ones."""

    def __init__(self, script: Iterable[Script]) -> None:
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._script = list(script)
        self._at_once = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer._handle(self.request)

        class Threaded(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 128

        self._server = Threaded(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, connection: socket.socket) -> None:
        request = _read(connection)
        if request is None:
            return
        with self._lock:
            script = self._script[min(len(self.requests), len(self._script) - 1)]
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        answering = [request]

        def ending() -> None:
            with self._lock:
                while answering:  # once, however often it is told
                    answering.pop()
                    self._at_once -= 1

        try:
            script(Reply(connection, self._closed, ending), request)
        except OSError:
            pass  # the client went away, which is its right
        finally:
            ending()


def _read(connection: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return Request(first.split()[1], headers, json.loads(body or b"{}"))
