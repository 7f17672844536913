"""Give every store its public methods, sync and async, over exchanges that the store describes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, Self, TypeVar

from promptkit.contracts import StoredMessage
from promptkit.memory._arguments import Progress, as_builtins, check_count, check_id
from promptkit.messages import BuiltinMessage, Message

__all__ = ["BaseRepository", "Exchange", "Page"]

Answer = TypeVar("Answer")


class Exchange(NamedTuple, Generic[Answer]):
    """Hold one round trip with a store, free of how it is made: sync and async differ in nothing else."""

    ask: Any
    """What to send; its form is the store's own."""
    read: Callable[[Any], Any]
    """Makes the answer of what came back, or the exchange that must follow."""
    conversation_id: str | None = None
    """The conversation concerned, for errors."""


class Page(NamedTuple):
    """Hold one piece of a long conversation."""

    messages: tuple[StoredMessage, ...]
    more: bool
    """Whether others may follow."""


class _Reading:
    """Follow a long read from page to page."""

    __slots__ = ("after", "limit", "progress", "read", "total")

    def __init__(self, after: int, limit: int | None, progress: Progress | None) -> None:
        self.after = check_count(after, "after")
        self.limit = None if limit is None else check_count(limit, "limit")
        self.progress = progress
        self.read = 0
        self.total = 0

    @property
    def left(self) -> int | None:
        return None if self.limit is None else self.limit - self.read

    def begin(self, count: int) -> None:
        rest = max(0, count - self.after)
        self.total = rest if self.limit is None else min(rest, self.limit)

    def turn(self, page: Page) -> bool:
        """Take note of a page that was given, and tell whether to ask for another."""
        if page.messages:
            self.after = page.messages[-1].sequence
            self.read += len(page.messages)
            if self.progress is not None:
                self.progress(self.read, max(self.total, self.read))
        return page.more and self.left != 0


class BaseRepository(ABC):
    """Implement the methods of a repository; a store adds what it asks and how it sends that."""

    __slots__ = ()

    @abstractmethod
    def _send(self, exchange: Exchange[Answer]) -> Any:
        """Make one round trip; every failure of the store is a `MemoryStoreError`."""

    @abstractmethod
    async def _asend(self, exchange: Exchange[Answer]) -> Any:
        """Do `_send` without blocking."""

    @abstractmethod
    def _append(self, name: str, batch: list[BuiltinMessage]) -> Exchange[tuple[int, ...]]: ...

    @abstractmethod
    def _last(self, name: str, n: int, system: int) -> Exchange[tuple[StoredMessage, ...]]: ...

    @abstractmethod
    def _page(self, name: str, after: int, limit: int | None) -> Exchange[Page]: ...

    @abstractmethod
    def _conversation_ids(self, after: str | None, limit: int | None) -> Exchange[tuple[str, ...]]: ...

    @abstractmethod
    def _count(self, name: str) -> Exchange[int]: ...

    @abstractmethod
    def _delete(self, name: str) -> Exchange[None]: ...

    def _do(self, exchange: Exchange[Answer]) -> Answer:
        while True:
            answer = exchange.read(self._send(exchange))
            if not isinstance(answer, Exchange):
                return answer  # type: ignore[no-any-return]
            exchange = answer

    async def _ado(self, exchange: Exchange[Answer]) -> Answer:
        while True:
            answer = exchange.read(await self._asend(exchange))
            if not isinstance(answer, Exchange):
                return answer  # type: ignore[no-any-return]
            exchange = answer

    def append(self, conversation_id: str, messages: Message | Iterable[Message]) -> tuple[int, ...]:
        """Append messages, all or none, and give their sequence numbers.

        A message whose id is stored with equal content is not stored again: its old number comes back, so an append
        whose answer was lost may be tried again. A message without id (``None`` or empty) is always appended.

        Raises:
            MemoryStoreError: An id is stored with other content, or the store failed.
            PromptError: Something in it is no message.
            SerializationError: A message holds what cannot be stored.
        """
        name = check_id(conversation_id)
        batch = as_builtins(messages)
        return self._do(self._append(name, batch)) if batch else ()

    def last(self, conversation_id: str, n: int, *, system: int = 0) -> tuple[StoredMessage, ...]:
        """Give the last ``n`` messages, oldest first; the time does not depend on how many there are.

        Args:
            conversation_id: The conversation; an unknown one has no messages.
            n: How many.
            system: How many system messages to give besides, the newest of those that stand before the ``n``.
        """
        return self._do(self._last(check_id(conversation_id), check_count(n, "n"), check_count(system, "system")))

    def read(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None, progress: Progress | None = None
    ) -> Iterator[StoredMessage]:
        """Stream the messages with a sequence number above ``after``, oldest first, a page at a time.

        Args:
            conversation_id: The conversation; an unknown one has no messages.
            after: The number of the last message that is known; 0 begins at the beginning.
            limit: How many messages at most.
            progress: Is called after each page with the number of messages given and of those to give.
        """
        return self._pages(check_id(conversation_id), _Reading(after, limit, progress))

    def _pages(self, name: str, reading: _Reading) -> Iterator[StoredMessage]:
        if reading.progress is not None:
            reading.begin(self._do(self._count(name)))
        more = reading.left != 0
        while more:
            page = self._do(self._page(name, reading.after, reading.left))
            yield from page.messages
            more = reading.turn(page)

    def conversation_ids(self, *, after: str | None = None, limit: int | None = None) -> tuple[str, ...]:
        """Give conversation ids in order of code points.

        Args:
            after: Begin after this id.
            limit: How many at most.
        """
        return self._do(self._listing(after, limit))

    def _listing(self, after: str | None, limit: int | None) -> Exchange[tuple[str, ...]]:
        checked = None if limit is None else check_count(limit, "limit")
        return self._conversation_ids(None if after is None else check_id(after), checked)

    def count(self, conversation_id: str) -> int:
        """Count the messages of a conversation."""
        return self._do(self._count(check_id(conversation_id)))

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation; an unknown one is no error. Numbers begin at 1 again."""
        self._do(self._delete(check_id(conversation_id)))

    async def aappend(self, conversation_id: str, messages: Message | Iterable[Message]) -> tuple[int, ...]:
        """Do `append` without blocking."""
        name = check_id(conversation_id)
        batch = as_builtins(messages)
        return await self._ado(self._append(name, batch)) if batch else ()

    async def alast(self, conversation_id: str, n: int, *, system: int = 0) -> tuple[StoredMessage, ...]:
        """Do `last` without blocking."""
        name = check_id(conversation_id)
        return await self._ado(self._last(name, check_count(n, "n"), check_count(system, "system")))

    def aread(
        self, conversation_id: str, *, after: int = 0, limit: int | None = None, progress: Progress | None = None
    ) -> AsyncIterator[StoredMessage]:
        """Do `read` without blocking."""
        return self._apages(check_id(conversation_id), _Reading(after, limit, progress))

    async def _apages(self, name: str, reading: _Reading) -> AsyncIterator[StoredMessage]:
        if reading.progress is not None:
            reading.begin(await self._ado(self._count(name)))
        more = reading.left != 0
        while more:
            page = await self._ado(self._page(name, reading.after, reading.left))
            for stored in page.messages:
                yield stored
            more = reading.turn(page)

    async def aconversation_ids(self, *, after: str | None = None, limit: int | None = None) -> tuple[str, ...]:
        """Do `conversation_ids` without blocking."""
        return await self._ado(self._listing(after, limit))

    async def acount(self, conversation_id: str) -> int:
        """Do `count` without blocking."""
        return await self._ado(self._count(check_id(conversation_id)))

    async def adelete(self, conversation_id: str) -> None:
        """Do `delete` without blocking."""
        await self._ado(self._delete(check_id(conversation_id)))

    @abstractmethod
    def close(self) -> None:
        """Close what sync methods opened; the next call opens it again."""

    async def aclose(self) -> None:
        """Close what async methods opened in this event loop, and what sync methods opened."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
