"""Keep the clients of a server: one for the sync methods, one for each event loop, and none across a fork."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["Clients"]

Sync = TypeVar("Sync")
Async = TypeVar("Async")


class Clients(Generic[Sync, Async]):
    """Make a client where there is none yet, and give it out for closing.

    >>> clients = Clients(lambda: ["sync"], lambda: ["async"])
    >>> clients.get() is clients.get(), clients.take(), clients.take()
    (True, ['sync'], None)
    """

    def __init__(self, make: Callable[[], Sync], amake: Callable[[], Async]) -> None:
        self._make = make
        self._amake = amake
        self._left: list[object] = []
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = Lock()
        self._client: Sync | None = None
        self._by_loop: dict[AbstractEventLoop, Async] = {}

    def _leave_parent(self) -> None:
        """Keep the parent's clients, in its forked child, unused and unclosed: closing would end its sessions."""
        if self._process != os.getpid():
            self._left += [self._client, self._by_loop]
            self._begin()

    def get(self) -> Sync:
        """Give the client of this process."""
        self._leave_parent()
        with self._lock:
            if self._client is None:
                self._client = self._make()
            return self._client

    def take(self) -> Sync | None:
        """Give the client of this process away, if there is one."""
        self._leave_parent()
        with self._lock:
            client, self._client = self._client, None
        return client

    def aget(self) -> Async:
        """Give the client of the running event loop; those of loops that have ended are dropped."""
        import asyncio

        self._leave_parent()
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._by_loop:
                self._by_loop = {known: client for known, client in self._by_loop.items() if not known.is_closed()}
                self._by_loop[loop] = self._amake()
            return self._by_loop[loop]

    def atake(self) -> Async | None:
        """Give the client of the running event loop away, if there is one."""
        import asyncio

        self._leave_parent()
        with self._lock:
            return self._by_loop.pop(asyncio.get_running_loop(), None)
