"""Measure stores: appends one by one and in bulk, the end of a long conversation, bytes on disk; servers beside."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from promptkit import AssistantMessage, Message, UserMessage, serialization
from promptkit.memory._repository import BaseRepository
from promptkit.memory.in_memory import InMemoryChatMemoryRepository
from promptkit.memory.postgres import PostgresChatMemoryRepository
from promptkit.memory.redis import RedisChatMemoryRepository
from promptkit.memory.sqlite import SQLiteChatMemoryRepository
from tests.benchmarks.harness import Call, Row, compare, growth, installed, interleaved, seconds
from tests.memory.servers import PostgresServer, RedisServer, running

QUESTION = "Why does the tide come twice a day, and not once, if the moon goes round once? "
ANSWER = "The moon pulls the near sea more than the earth, and the earth more than the far sea. " * 3
LONG = 100_000
BULK = 1_000

_FIND = """
    SELECT id, (SELECT max(sequence) FROM messages WHERE conversation = id) FROM conversations WHERE name = ?"""
_INSERT = "INSERT INTO messages (conversation, sequence, role, message_id, body) VALUES (?, ?, ?, ?, ?)"


def talk(length: int) -> list[UserMessage | AssistantMessage]:
    """Write a conversation of so many messages."""
    return [
        UserMessage(f"{QUESTION}{at}") if at % 2 == 0 else AssistantMessage(f"{ANSWER}{at}") for at in range(length)
    ]


@contextmanager
def files() -> Iterator[Callable[[], str]]:
    """Name new files, in a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        numbers = count()
        yield lambda: str(Path(folder, f"{next(numbers)}.db"))


def store(path: str) -> SQLiteChatMemoryRepository:
    """Open a store with its schema made."""
    repository = SQLiteChatMemoryRepository(path)
    repository.count("c1")
    return repository


def hand_loop(path: str) -> Callable[[list[UserMessage | AssistantMessage]], None]:
    """Append to the same tables as a program does that needs nothing else."""
    store(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("INSERT INTO conversations (name) VALUES ('c1')")

    def append(messages: list[UserMessage | AssistantMessage]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        key, end = connection.execute(_FIND, ("c1",)).fetchone()
        rows = [
            (key, number, message.message_type, message.id, serialization.dumps(message))
            for number, message in enumerate(messages, (end or 0) + 1)
        ]
        connection.executemany(_INSERT, rows)
        connection.execute("COMMIT")

    return append


def langchain(path: str, messages: list[UserMessage | AssistantMessage]) -> Callable[[], tuple[Call, Call]]:
    """Append, and read the end, as langchain-community ships."""

    def prepare() -> tuple[Call, Call]:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from langchain_community.chat_message_histories import (  # type: ignore[import-not-found,unused-ignore]
                SQLChatMessageHistory,
            )
        from langchain_core.messages import AIMessage, HumanMessage

        theirs = [
            HumanMessage(str(each.content)) if isinstance(each, UserMessage) else AIMessage(str(each.content))
            for each in messages
        ]
        history = SQLChatMessageHistory("c1", connection=f"sqlite:///{path}")
        return lambda: history.add_messages(theirs), lambda: history.messages[-20:]

    return prepare


def llama_index(path: str, messages: list[UserMessage | AssistantMessage]) -> Callable[[], tuple[Call, Call]]:
    """Append, and read the end, as llama-index ships."""

    def prepare() -> tuple[Call, Call]:
        from llama_index.core.llms import ChatMessage
        from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

        chat_store = SQLAlchemyChatStore(table_name="t", async_database_uri=f"sqlite+aiosqlite:///{path}")
        theirs = [ChatMessage(role=each.message_type.value, content=str(each.content)) for each in messages]
        run = asyncio.Runner().run

        def add() -> None:
            for at in range(0, len(theirs), BULK):  # it cannot add 100,000 at once
                run(chat_store.add_messages("c1", theirs[at : at + BULK]))

        return add, lambda: run(chat_store.get_messages("c1"))[-20:]

    return prepare


def appends(messages: list[UserMessage | AssistantMessage], name: str, faster: float | None = None) -> list[Row]:
    """Compare appends of so many messages at once."""
    with files() as path:
        ours, by_hand = store(path()), hand_loop(path())
        peers = installed({"langchain": langchain(path(), messages), "llama-index": llama_index(path(), messages)})
        calls: dict[str, Call] = {"ours": lambda: ours.append("c1", messages), "hand loop": lambda: by_hand(messages)}
        times = interleaved(calls | {peer: call for peer, (call, _) in peers.items()}, rounds=15)
        ours.close()
    return compare(name, times, at_most={"hand loop": 1 / 0.7}, faster={"langchain": faster} if faster else None)


def bench_sqlite_appends() -> list[Row]:
    """Compare one message an append."""
    return appends(talk(1), "SQLite: append 1 message", 10)


def bench_sqlite_bulk_appends() -> list[Row]:
    """Compare many messages an append."""
    return appends(talk(BULK), f"SQLite: append {BULK:,} messages")


def bench_sqlite_last() -> list[Row]:
    """Compare the last 20 messages of a long conversation, and see that its length makes no difference."""
    messages = talk(LONG)
    with files() as path:
        name = path()
        ours = store(name)
        ours.append("c1", messages)
        peers = installed({"langchain": langchain(path(), messages), "llama-index": llama_index(path(), messages)})
        for fill, _ in peers.values():
            fill()
        calls: dict[str, Call] = {"ours": lambda: ours.last("c1", 20)}
        times = interleaved(calls | {peer: call for peer, (_, call) in peers.items()}, rounds=3)
        rows = compare("SQLite: last 20 of 100,000", times, faster={"langchain": 500})

        def make(length: int) -> Call:
            ours.append(str(length), messages[:length])
            return lambda: ours.last(str(length), 20)

        rows.append(growth("SQLite: last 20", make, (1_000, 10_000, LONG), at_most=0.1))
        ours.close()
    return rows


def bench_sqlite_bytes() -> list[Row]:
    """Report the size of the file of a long conversation."""
    messages = talk(LONG)
    text = sum(len(str(message.content)) for message in messages)
    with files() as path:
        name = path()
        with store(name) as repository:
            repository.append("c1", messages)
        size = Path(name).stat().st_size
    return [
        Row(
            "SQLite: 100,000 messages on disk",
            f"{size / 1e6:.1f} MB",
            "their text alone",
            f"{text / 1e6:.1f} MB",
            f"{size / text:.2f} x",
        )
    ]


def bench_in_memory() -> list[Row]:
    """Compare appends in the process with a list in a dict."""
    repository = InMemoryChatMemoryRepository()
    lists: dict[str, list[Message]] = {}
    message = talk(1)[0]
    times = interleaved(
        {
            "ours": lambda: repository.append("c1", message),
            "dict of lists": lambda: lists.setdefault("c1", []).append(message),
        }
    )
    return compare("in memory: append 1 message", times)


def bench_servers() -> list[Row]:
    """Compare one append with a bare round trip of the same client, on PostgreSQL and Redis."""
    import psycopg
    import redis

    message = talk(2)[1]
    with ExitStack() as stack:
        postgres = stack.enter_context(running(PostgresServer()))
        other = stack.enter_context(running(RedisServer()))
        connection = stack.enter_context(psycopg.connect(postgres.conninfo(), autocommit=True))
        connection.execute("CREATE TABLE hand (number bigserial PRIMARY KEY, body text)")
        client = stack.enter_context(redis.Redis.from_url(other.url()))
        stores: dict[str, BaseRepository] = {
            "PostgreSQL": PostgresChatMemoryRepository(postgres.conninfo()),
            "Redis": RedisChatMemoryRepository(other.url()),
        }
        by_hand: dict[str, Call] = {
            "PostgreSQL": lambda: connection.execute(
                "INSERT INTO hand (body) VALUES (%s)", [serialization.dumps(message)], prepare=False
            ),
            "Redis": lambda: client.rpush("hand", serialization.dumps(message)),
        }
        rows = []
        for name, repository in stores.items():
            stack.enter_context(repository)
            repository.append("c2", talk(10_000))
            ours: Call = partial(repository.append, "c1", message)
            times = interleaved({"ours": ours, "one INSERT or RPUSH": by_hand[name]})
            rows += compare(f"{name}: append 1 message", times)
            times = interleaved({"ours": partial(repository.last, "c2", 20)})
            rows.append(Row(f"{name}: last 20 of 10,000", seconds(times["ours"]), "", "", ""))
        return rows
