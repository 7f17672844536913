"""Drive the async methods of a repository as if they were the sync ones, so that one suite tests both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Protocol, Self

from promptkit.contracts import StoredMessage
from promptkit.memory._repository import BaseRepository
from promptkit.messages import Message


class Form(Protocol):
    """Be the sync methods of a repository, or its async ones driven as such."""

    def append(self, conversation_id: str, messages: Message | Iterable[Message]) -> tuple[int, ...]: ...
    def last(self, conversation_id: str, n: int, *, system: int = 0) -> tuple[StoredMessage, ...]: ...
    def read(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[StoredMessage]: ...
    def conversation_ids(self, *, after: str | None = None, limit: int | None = None) -> tuple[str, ...]: ...
    def count(self, conversation_id: str) -> int: ...
    def delete(self, conversation_id: str) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...


class AsyncForm:
    """Call the async twin of each sync method, in one event loop."""

    def __init__(self, repository: BaseRepository) -> None:
        self.repository = repository
        self.runner = asyncio.Runner()

    def append(self, conversation_id: str, messages: Message | Iterable[Message]) -> tuple[int, ...]:
        return self.runner.run(self.repository.aappend(conversation_id, messages))

    def last(self, conversation_id: str, n: int, *, system: int = 0) -> tuple[StoredMessage, ...]:
        return self.runner.run(self.repository.alast(conversation_id, n, system=system))

    def read(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[StoredMessage]:
        return self._steps(self.repository.aread(conversation_id, after=after, limit=limit, progress=progress))

    def _steps(self, messages: AsyncIterator[StoredMessage]) -> Iterator[StoredMessage]:
        async def step() -> StoredMessage | None:
            return await anext(messages, None)

        while (stored := self.runner.run(step())) is not None:
            yield stored

    def conversation_ids(self, *, after: str | None = None, limit: int | None = None) -> tuple[str, ...]:
        return self.runner.run(self.repository.aconversation_ids(after=after, limit=limit))

    def count(self, conversation_id: str) -> int:
        return self.runner.run(self.repository.acount(conversation_id))

    def delete(self, conversation_id: str) -> None:
        self.runner.run(self.repository.adelete(conversation_id))

    def close(self) -> None:
        self.runner.run(self.repository.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self.runner.close()
