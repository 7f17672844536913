"""Hold the small things that stores share: locks and clients across forks and event loops."""

from __future__ import annotations

import asyncio
from itertools import count

from promptkit.memory._arguments import ForkSafeLock
from promptkit.memory._clients import Clients
from promptkit.memory.postgres import PostgresChatMemoryRepository
from promptkit.memory.redis import RedisChatMemoryRepository
from promptkit.memory.sqlite import SQLiteChatMemoryRepository


def test_a_lock_that_the_parent_held_is_open_in_a_child() -> None:
    lock = ForkSafeLock()
    lock.__enter__()
    lock._process = -1  # as a fork leaves it

    with lock:
        pass


def test_a_child_begins_without_clients() -> None:
    numbers = count()
    clients = Clients(lambda: next(numbers), lambda: next(numbers))
    assert clients.get() == 0

    clients._process = -1

    assert clients.take() is None
    assert clients.get() == 1
    assert clients._left[0] == 0


def test_each_event_loop_has_a_client_and_ended_ones_are_dropped() -> None:
    numbers = count()
    clients = Clients(lambda: next(numbers), lambda: next(numbers))

    async def story() -> list[int | None]:
        return [clients.aget(), clients.aget()]

    assert asyncio.run(story()) == [0, 0]
    assert asyncio.run(story()) == [1, 1]
    assert len(clients._by_loop) == 1


def test_a_client_is_given_away_once() -> None:
    numbers = count(7)
    clients = Clients(lambda: next(numbers), lambda: next(numbers))

    async def story() -> list[int | None]:
        return [clients.atake(), clients.aget(), clients.atake(), clients.atake()]

    assert asyncio.run(story()) == [None, 7, 7, None]


def test_stores_show_where_they_are_but_no_password() -> None:
    stores = (
        SQLiteChatMemoryRepository("/chats.db", durable=True),
        PostgresChatMemoryRepository("postgresql://ada:secret@host/chats", max_connections=3),
        RedisChatMemoryRepository("redis://ada:secret@host", prefix="p", ttl=5),
    )

    assert [*map(repr, stores)] == [
        "SQLiteChatMemoryRepository('/chats.db', durable=True, timeout=30.0)",
        "PostgresChatMemoryRepository(max_connections=3, timeout=30.0)",
        "RedisChatMemoryRepository(prefix='p', ttl=5)",
    ]
