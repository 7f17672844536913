"""Stand between a client and a server on Unix sockets: count round trips, and lose answers."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self


class Proxy:
    """Forward connections; a round trip is what a client sends before the server answers."""

    def __init__(self, path: Path, server: Path) -> None:
        self.path = path
        self.server = server
        self.trips = 0
        self.losing = False
        """Whether the next answers are thrown away, and their connections closed, once the server has answered."""
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.threads: list[threading.Thread] = []
        self.sockets: list[socket.socket] = [self.listener]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self.sockets:
            _shut(each)
        for thread in self.threads:
            thread.join()
        for each in self.sockets:
            each.close()

    def _start(self, target: object, *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            self.sockets += [client, server]
            try:
                server.connect(str(self.server))
            except OSError:
                _shut(client)
                continue
            self._start(self._forward, client, server)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        asking = False
        try:
            while True:
                ready, _, _ = select.select([client, server], [], [])
                source = ready[0]
                data = source.recv(1 << 16)
                if not data:
                    return
                if source is client:
                    self.trips += not asking
                    asking = True
                    server.sendall(data)
                elif self.losing:
                    return
                else:
                    asking = False
                    client.sendall(data)
        except OSError:
            return
        finally:
            _shut(client)
            _shut(server)


def _shut(each: socket.socket) -> None:
    with suppress(OSError):  # the other side may have been quicker
        each.shutdown(socket.SHUT_RDWR)
