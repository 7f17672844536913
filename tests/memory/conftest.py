"""Give the repositories under test, each sync and async, on real servers that the tests start and stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from promptkit.memory._repository import BaseRepository
from promptkit.memory.in_memory import InMemoryChatMemoryRepository
from promptkit.memory.postgres import PostgresChatMemoryRepository
from promptkit.memory.redis import RedisChatMemoryRepository
from promptkit.memory.sqlite import SQLiteChatMemoryRepository
from tests.memory.forms import AsyncForm, Form
from tests.memory.servers import PostgresServer, RedisServer, running

OPEN = {"memory": "open_memory", "sqlite": "open_sqlite", "postgres": "open_postgres", "redis": "open_redis"}
"""The fixture by store that gives a function: each call opens one more repository over the same empty data."""


@pytest.fixture
def open_memory() -> Callable[[], BaseRepository]:
    """Give the one repository that this process has."""
    repository = InMemoryChatMemoryRepository()
    return lambda: repository


@pytest.fixture
def open_sqlite(tmp_path: Path) -> Callable[[], BaseRepository]:
    """Open one file again and again."""
    return lambda: SQLiteChatMemoryRepository(tmp_path / "chats.db")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Run one PostgreSQL server for all tests that need no crash."""
    with running(PostgresServer(durable=False)) as server:
        yield server


_schemas = count()


@pytest.fixture
def postgres_schema(postgres_server: PostgresServer) -> str:
    """Make an empty schema, and tell how to connect to it."""
    import psycopg

    name = f"test_{next(_schemas)}"
    with psycopg.connect(postgres_server.conninfo(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return postgres_server.conninfo(name)


@pytest.fixture
def open_postgres(postgres_schema: str) -> Callable[[], BaseRepository]:
    """Connect to one schema again and again."""
    return lambda: PostgresChatMemoryRepository(postgres_schema)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """Run one Redis server for all tests that need no crash."""
    with running(RedisServer()) as server:
        yield server


_prefixes = count()


@pytest.fixture
def open_redis(redis_server: RedisServer) -> Callable[[], BaseRepository]:
    """Connect to one prefix again and again."""
    prefix = f"test-{next(_prefixes)}"
    return lambda: RedisChatMemoryRepository(redis_server.url(), prefix=prefix)


@pytest.fixture(params=OPEN)
def store(request: pytest.FixtureRequest) -> str:
    """Name each store in turn."""
    return str(request.param)


@pytest.fixture
def open_store(store: str, request: pytest.FixtureRequest) -> Callable[[], BaseRepository]:
    """Give the function that opens a repository of the store."""
    opener: Callable[[], BaseRepository] = request.getfixturevalue(OPEN[store])
    return opener


@pytest.fixture(params=["sync", "async"])
def repository(request: pytest.FixtureRequest, open_store: Callable[[], BaseRepository]) -> Iterator[Form]:
    """Give an empty repository of each store, in both forms."""
    opened = open_store()
    form: Form = AsyncForm(opened) if request.param == "async" else opened
    with form:
        yield form
