"""Answer HTTP requests byte by byte as a script says: the faults that no real server has on demand."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

RESET = "reset"
"""A step: break the connection without an end."""
END = "end"
"""A step: end the connection neatly."""
HOLD = "hold"
"""A step: say nothing more until the client has gone."""

Step = bytes | float | str
"""What a script does next: bytes to send, seconds to wait, or one of the words above."""


class Request(NamedTuple):
    """Hold what a client asked."""

    path: str
    headers: dict[str, str]
    body: Any


def http(
    status: int, body: Any = None, headers: Sequence[tuple[str, str]] = (), kind: str = "application/json"
) -> bytes:
    """Write a whole answer; what is no text goes as JSON."""
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = [f"HTTP/1.1 {status} Status", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers), "", ""]).encode() + data


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
STREAM_END = b"0\r\n\r\n"


def chunked(data: bytes) -> bytes:
    """Write a piece of a stream."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def stream(pieces: Sequence[bytes], *after: Step) -> list[Step]:
    """Make the script of a stream: each piece in a packet of its own, then the end, or what else should happen."""
    return [STREAM_HEAD, *map(chunked, pieces), *(after or (STREAM_END,))]


class ScriptedServer:
    """Answer each request by the script; remember requests, connections, and that clients have gone."""

    def __init__(self) -> None:
        self.script: Sequence[Step] | Callable[[Request], Sequence[Step]] = ()
        self.requests: list[Request] = []
        self.connections = 0
        self.gone = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def answer(self, *script: Step) -> None:
        """Set the script, and forget what was."""
        self.script, self.requests, self.connections = script, [], 0
        self.gone.clear()

    def answer_by(self, script: Callable[[Request], Sequence[Step]]) -> None:
        """Set a function that gives the script of each request."""
        self.answer()
        self.script = script

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as lines:
            try:
                while (request := _read(lines)) is not None:
                    self.requests.append(request)
                    if not self._play(client, self.script(request) if callable(self.script) else self.script):
                        return
            except OSError:
                self.gone.set()

    def _play(self, client: socket.socket, script: Sequence[Step]) -> bool:
        for step in script:
            if isinstance(step, bytes):
                client.sendall(step)
            elif isinstance(step, str):
                if step == RESET:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                elif step == HOLD:
                    client.settimeout(10)
                    if not client.recv(1):
                        self.gone.set()
                return False
            else:
                time.sleep(step)
        return True

    def close(self) -> None:
        """Take no more clients."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read(lines: Any) -> Request | None:
    first = lines.readline().decode().split()
    if not first:
        return None
    headers = {}
    while line := lines.readline().decode().strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    data = lines.read(int(headers.get("content-length", 0)))
    return Request(first[1], headers, json.loads(data) if data else None)
