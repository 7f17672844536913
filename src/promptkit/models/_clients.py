"""Hold the clients of a vendor's SDK that a chat model speaks through: one for threads, one for each event loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from promptkit.errors import ModelError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["Clients"]


class Clients:
    """Give the clients: those that were injected, else ones made at the first call.

    The connections of an async client belong to the event loop that opened them, so each loop gets a client of its own.
    It is closed with its loop: an async generator holds it, and a loop that ends closes its generators.

    Args:
        owner: The model's name, for errors.
        make: Makes a client; the argument tells whether it is an async one.
        aclose: Closes an async client that was made.
        sync: A client that was injected.
        asynchronous: An async client that was injected.
    """

    __slots__ = ("_aclose_one", "_closed", "_given", "_given_async", "_lock", "_loops", "_made", "_make", "_owner")

    def __init__(
        self,
        owner: str,
        make: Callable[[bool], Any],
        aclose: Callable[[Any], Awaitable[None]],
        sync: Any,
        asynchronous: Any,
    ) -> None:
        self._owner = owner
        self._make = make
        self._aclose_one = aclose
        self._given = sync
        self._given_async = asynchronous
        self._made: Any = None
        self._loops: dict[AbstractEventLoop, tuple[Any, AsyncGenerator[None, None]]] = {}
        self._lock = Lock()
        self._closed = False

    @property
    def sync_only(self) -> bool:
        """Whether only a sync client was injected: async calls then run it in a thread."""
        return self._given is not None and self._given_async is None

    def sync(self) -> Any:
        """Give the client for sync calls.

        Raises:
            TypeError: Only an async client was injected.
            ModelError: The model is closed.
        """
        with self._lock:
            self._check()
            if self._given is not None:
                return self._given
            if self._given_async is not None:
                raise TypeError(f"{self._owner} was given an async client only: use await acall(…), or give client=…")
            if self._made is None:
                self._made = self._make(False)
            return self._made

    async def asynchronous(self) -> Any:
        """Give the client for async calls in the running loop.

        Raises:
            ModelError: The model is closed.
        """
        if self._given_async is not None:
            self._check()
            return self._given_async
        import asyncio

        loop = asyncio.get_running_loop()
        with self._lock:
            self._check()
            if loop in self._loops:
                return self._loops[loop][0]
            for other in [other for other in self._loops if other.is_closed()]:
                del self._loops[other]
            client = self._make(True)
            guard = self._guard(loop, client)
            self._loops[loop] = (client, guard)
        await anext(guard)
        return client

    async def _guard(self, loop: AbstractEventLoop, client: Any) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._loops.pop(loop, None)
            await self._aclose_one(client)

    def _check(self) -> None:
        if self._closed:
            raise ModelError(f"this {self._owner} is closed: make a new one")

    def close(self) -> None:
        """Close the sync client that was made here; async ones are closed by `aclose`, or when their loop ends."""
        with self._lock:
            self._closed = True
            made, self._made = self._made, None
        if made is not None:
            made.close()

    async def aclose(self) -> None:
        """Close what was made here, for threads and for the running loop."""
        import asyncio

        self.close()
        _, guard = self._loops.get(asyncio.get_running_loop(), (None, None))
        if guard is not None:
            await guard.aclose()
