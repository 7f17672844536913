"""Keep conversations in the process: for tests, for scripts, and where nothing need outlive it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptkit.contracts import StoredMessage
from promptkit.memory._arguments import ForkSafeLock, clash
from promptkit.memory._repository import Answer, BaseRepository, Exchange, Page
from promptkit.messages import BuiltinMessage, SystemMessage

__all__ = ["InMemoryChatMemoryRepository"]

_PAGE = 256
"""Messages that a read takes at a time; between two pages others may write."""


class _Log:
    """Hold one conversation; the message with the sequence number n is ``messages[n - 1]``."""

    __slots__ = ("messages", "sequences", "system")

    def __init__(self) -> None:
        self.messages: list[BuiltinMessage] = []
        self.sequences: dict[str, int] = {}
        self.system: list[int] = []

    def append(self, name: str, batch: list[BuiltinMessage]) -> tuple[int, ...]:
        """Append all messages, or none if an id is taken."""
        before = len(self.messages)
        fresh: list[BuiltinMessage] = []
        named: dict[str, int] = {}
        sequences: list[int] = []
        for message in batch:
            known = (self.sequences.get(message.id) or named.get(message.id)) if message.id else None
            if known is None:
                fresh.append(message)
                known = before + len(fresh)
                if message.id:
                    named[message.id] = known
            elif message != (fresh[known - before - 1] if known > before else self.messages[known - 1]):
                raise clash(name, message, known)
            sequences.append(known)
        self.system += [number for number, message in enumerate(fresh, before + 1) if type(message) is SystemMessage]
        self.messages += fresh
        self.sequences.update(named)
        return tuple(sequences)

    def slice(self, begin: int, end: int) -> tuple[StoredMessage, ...]:
        """Give the messages whose numbers are above ``begin``, up to ``end``."""
        return tuple([StoredMessage(number, self.messages[number - 1]) for number in range(begin + 1, end + 1)])

    def last(self, n: int, system: int) -> tuple[StoredMessage, ...]:
        """Give the last messages, and system messages that stand before them."""
        begin = max(0, len(self.messages) - n)
        earlier = [number for number in self.system[-(n + system) :] if number <= begin] if system else []
        head = [StoredMessage(number, self.messages[number - 1]) for number in earlier[-system:]]
        return (*head, *self.slice(begin, len(self.messages)))


class InMemoryChatMemoryRepository(BaseRepository):
    """Keep conversations in this process; they end with it.

    Several threads may use it. The async methods wait for nothing.

    >>> from promptkit import UserMessage
    >>> repository = InMemoryChatMemoryRepository()
    >>> repository.append("c1", [UserMessage("Hi"), UserMessage("Are you there?")])
    (1, 2)
    >>> repository.last("c1", 1)[0].message.text
    'Are you there?'
    """

    __slots__ = ("_lock", "_logs")

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._logs: dict[str, _Log] = {}

    def _send(self, exchange: Exchange[Answer]) -> Any:
        with self._lock:
            return exchange.ask()

    async def _asend(self, exchange: Exchange[Answer]) -> Any:
        return self._send(exchange)

    def _append(self, name: str, batch: list[BuiltinMessage]) -> Exchange[tuple[int, ...]]:
        def append() -> tuple[int, ...]:
            log = self._logs.get(name) or _Log()
            sequences = log.append(name, batch)
            self._logs[name] = log
            return sequences

        return _exchange(append)

    def _last(self, name: str, n: int, system: int) -> Exchange[tuple[StoredMessage, ...]]:
        return _exchange(lambda: log.last(n, system) if (log := self._logs.get(name)) else ())

    def _page(self, name: str, after: int, limit: int | None) -> Exchange[Page]:
        def page() -> Page:
            log = self._logs.get(name) or _Log()
            end = min(len(log.messages), after + min(_PAGE, _PAGE if limit is None else limit))
            return Page(log.slice(after, end), more=end < len(log.messages))

        return _exchange(page)

    def _conversation_ids(self, after: str | None, limit: int | None) -> Exchange[tuple[str, ...]]:
        return _exchange(lambda: tuple([name for name in sorted(self._logs) if after is None or name > after][:limit]))

    def _count(self, name: str) -> Exchange[int]:
        return _exchange(lambda: len(log.messages) if (log := self._logs.get(name)) else 0)

    def _delete(self, name: str) -> Exchange[None]:
        def delete() -> None:
            self._logs.pop(name, None)

        return _exchange(delete)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _exchange(action: Callable[[], Answer]) -> Exchange[Answer]:
    return Exchange(action, _same)


def _same(answer: Answer) -> Answer:
    return answer
