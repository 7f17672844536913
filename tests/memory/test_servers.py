"""Hold what PostgreSQL and Redis stores must do between a client and its server: trips, losses, restarts, forks."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from promptkit import MemoryStoreError, MissingDependencyError, SystemMessage, UserMessage
from promptkit.memory._repository import BaseRepository
from promptkit.memory.postgres import PostgresChatMemoryRepository
from promptkit.memory.redis import RedisChatMemoryRepository
from tests.memory.forms import AsyncForm, Form
from tests.memory.proxy import Proxy
from tests.memory.servers import PostgresServer, RedisServer, Server, running

SERVERS: dict[str, Callable[[], Server]] = {"postgres": PostgresServer, "redis": RedisServer}
NAMES = (f"c{number}" for number in count())


def connected(server: Server, socket: Path, timeout: float = 20) -> BaseRepository:
    """Open a repository over a socket: the server's own, or that of a proxy before it."""
    if isinstance(server, PostgresServer):
        return PostgresChatMemoryRepository(f"host={socket.parent} user=postgres dbname=postgres", timeout=timeout)
    return RedisChatMemoryRepository(f"unix://{socket}", timeout=timeout)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Run a server that the tests of this module may restart."""
    with running(SERVERS[request.param]()) as started:
        yield started


@pytest.fixture
def proxy(server: Server, tmp_path: Path) -> Iterator[Proxy]:
    """Put a proxy before the server."""
    with Proxy(tmp_path / server.socket.name, server.socket) as started:
        yield started


@pytest.fixture(params=["sync", "async"])
def repository(request: pytest.FixtureRequest, server: Server, proxy: Proxy) -> Iterator[Form]:
    """Give a repository behind the proxy, in both forms."""
    opened = connected(server, proxy.path)
    form: Form = AsyncForm(opened) if request.param == "async" else opened
    with form:
        yield form


@pytest.fixture
def name() -> str:
    """Name a conversation that no other test uses."""
    return next(NAMES)


def contents(repository: Form | BaseRepository, name: str) -> list[object]:
    return [stored.message.content for stored in repository.read(name)]


def test_each_call_is_one_round_trip(repository: Form, proxy: Proxy, name: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "append": lambda: repository.append(name, UserMessage("x")),
        "append with id": lambda: repository.append(name, UserMessage("y", id="m1")),
        "append many": lambda: repository.append(name, [UserMessage(str(number)) for number in range(100)]),
        "last": lambda: repository.last(name, 20, system=5),
        "read": lambda: list(repository.read(name, limit=100)),
        "count": lambda: repository.count(name),
        "conversation_ids": lambda: repository.conversation_ids(limit=5),
        "delete": lambda: repository.delete(name),
    }
    for call in calls.values():
        call()  # connects, and hands Redis its scripts

    spent = {}
    for label, call in calls.items():
        proxy.trips = 0
        call()
        spent[label] = proxy.trips

    assert spent == dict.fromkeys(calls, 1)


def test_a_long_read_is_a_trip_for_each_page(repository: Form, proxy: Proxy, name: str) -> None:
    repository.append(name, [UserMessage(str(number)) for number in range(1_000)])
    next(repository.read(name))
    proxy.trips = 0

    assert len(contents(repository, name)) == 1_000
    assert proxy.trips == 4


def test_a_retry_after_a_lost_answer_stores_once(repository: Form, proxy: Proxy, name: str) -> None:
    turn = [UserMessage("q", id=f"{name}-1"), UserMessage("r", id=f"{name}-2")]
    repository.append(name, UserMessage("before"))
    proxy.losing = True
    with pytest.raises(MemoryStoreError, match="store failed") as caught:
        repository.append(name, turn)
    assert caught.value.conversation_id == name
    proxy.losing = False

    assert repository.append(name, turn) == (2, 3)
    assert contents(repository, name) == ["before", "q", "r"]


def test_a_lost_answer_is_never_sent_again_by_itself(repository: Form, proxy: Proxy, name: str) -> None:
    repository.append(name, UserMessage("before"))
    proxy.losing = True
    with pytest.raises(MemoryStoreError):
        repository.append(name, UserMessage("once"))
    proxy.losing = False

    assert contents(repository, name) == ["before", "once"]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_in_mid_conversation_loses_nothing(
    server: Server, how: str, name: str, form: Callable[[BaseRepository], Form]
) -> None:
    with form(connected(server, server.socket)) as repository:
        repository.append(name, [UserMessage("a"), UserMessage("b")])
        getattr(server, how)()
        server.start()
        if isinstance(repository, AsyncForm):
            repository.runner.run(asyncio.sleep(0))  # an event loop that runs hears that a connection ended

        assert repository.append(name, UserMessage("c")) == (3,)
        assert contents(repository, name) == ["a", "b", "c"]


@pytest.fixture(params=["sync", "async"])
def form(request: pytest.FixtureRequest) -> Callable[[BaseRepository], Form]:
    """Give a function that turns a repository into its form."""
    return AsyncForm if request.param == "async" else lambda repository: repository


def test_a_server_that_is_down_is_an_error_and_later_none(
    server: Server, name: str, form: Callable[[BaseRepository], Form]
) -> None:
    with form(connected(server, server.socket, timeout=0.5)) as repository:
        repository.append(name, UserMessage("a"))
        server.stop()
        try:
            with pytest.raises(MemoryStoreError, match="store failed"):
                repository.append(name, UserMessage("lost"))
        finally:
            server.start()
        for _ in range(50):  # a pool may need a moment to connect again
            try:
                repository.append(name, UserMessage("b", id="m-b"))
                break
            except MemoryStoreError:
                continue
        assert contents(repository, name) == ["a", "b"]


def test_no_server_at_all_is_told_at_once(server: Server, tmp_path: Path) -> None:
    with connected(server, tmp_path / server.socket.name) as repository, pytest.raises(MemoryStoreError) as caught:
        repository.count("c1")
    assert "No such file" in str(caught.value)


def test_a_forked_child_has_connections_of_its_own(server: Server, name: str) -> None:
    with connected(server, server.socket) as repository:
        repository.append(name, UserMessage("parent 1"))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                repository.append(name, UserMessage("child"))
                repository.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        repository.append(name, UserMessage("parent 2"))

        assert contents(repository, name) == ["parent 1", "child", "parent 2"]


def test_event_loops_one_after_the_other(server: Server, name: str) -> None:
    repository = connected(server, server.socket)

    async def story(number: int) -> int:
        async with repository:
            await asyncio.gather(*(repository.aappend(name, UserMessage(str(number))) for _ in range(5)))
            return await repository.acount(name)

    assert [asyncio.run(story(number)) for number in range(3)] == [5, 10, 15]


def test_more_callers_than_connections_wait_their_turn(server: Server, name: str) -> None:
    repository = connected(server, server.socket)

    async def story() -> int:
        async with repository:
            await asyncio.gather(*(repository.aappend(name, UserMessage(str(number))) for number in range(50)))
            return await repository.acount(name)

    assert asyncio.run(story()) == 50


def test_a_cancelled_call_leaves_no_answer_for_another(server: Server, name: str) -> None:
    repository = connected(server, server.socket)
    chance = random.Random(0)

    async def story() -> None:
        async with repository:
            await repository.aappend(f"{name} long", [UserMessage("long " * 200) for _ in range(200)])
            await repository.aappend(f"{name} short", UserMessage("short"))
            for _ in range(60):
                task = asyncio.create_task(repository.alast(f"{name} long", 200))
                await asyncio.sleep(chance.uniform(0, 0.006))
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                assert [each.message.content for each in await repository.alast(f"{name} short", 1)] == ["short"]

    asyncio.run(story())


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool", "redis"])
def test_a_missing_package_is_named_with_its_command(package: str) -> None:
    store = "redis.RedisChat" if package == "redis" else "postgres.PostgresChat"
    module, name = f"promptkit.memory.{store}".rsplit(".", 1)
    extra = module.rpartition(".")[2]
    script = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"from {module} import {name}MemoryRepository as Repository\n"
        "from promptkit import MissingDependencyError\n"
        "try: Repository('x://localhost').count('c1')\n"
        "except MissingDependencyError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert f"pip install 'promptkit[{extra}]'" in done.stdout
    assert issubclass(MissingDependencyError, ImportError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PostgresChatMemoryRepository("postgresql//ada:secret@localhost"),
        lambda: PostgresChatMemoryRepository("host=localhost user password=secret"),
        lambda: PostgresChatMemoryRepository("postgresql://ada:secret@localhost:5x/chats"),
        lambda: RedisChatMemoryRepository("localhost:secret"),
        lambda: RedisChatMemoryRepository("redis://ada:secret@localhost:5x"),
        lambda: RedisChatMemoryRepository("redis://ada:secret@localhost:5/0?socket_timeout=secret"),
    ],
)
def test_a_wrong_address_is_refused_without_showing_its_password(make: Callable[[], BaseRepository]) -> None:
    with make() as repository:
        with pytest.raises(MemoryStoreError) as caught:
            repository.count("c1")
        assert "secret" not in f"{caught.value}{repository!r}"


def test_system_messages_are_found_by_index(postgres_schema: str) -> None:
    import psycopg

    from promptkit.memory.postgres import _APPEND, _COUNT, _LAST, _NAMES, _READ

    with PostgresChatMemoryRepository(postgres_schema) as repository:
        repository.append("c1", [SystemMessage("s"), *(UserMessage(str(number)) for number in range(300))])
    parameters: dict[str, Any] = {"name": b"c1", "n": 20, "system": 1, "after": 5, "limit": 20, "bytes": 1_000}
    parameters |= {"roles": ["user"], "ids": [b"m1"], "bodies": ["{}"]}
    with psycopg.connect(postgres_schema) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_bitmapscan = off")
        for statement in (_APPEND, _LAST, _READ, _COUNT, _NAMES):
            names = statement if statement is not _NAMES else statement.replace("%(after)s", "''::bytea")
            plan = connection.execute(f"EXPLAIN {names}".encode(), parameters).fetchall()
            assert not [line for (line,) in plan if "Seq Scan" in line], plan
        plan = connection.execute(f"EXPLAIN {_LAST}".encode(), parameters).fetchall()
        assert any("promptkit_system_messages" in line for (line,) in plan)


@pytest.mark.parametrize("statement", ["UPDATE promptkit_schema SET version = 99"])
def test_a_postgres_schema_from_the_future_is_refused_untouched(postgres_schema: str, statement: str) -> None:
    import psycopg

    with PostgresChatMemoryRepository(postgres_schema) as repository:
        repository.append("c1", UserMessage("x"))
    with psycopg.connect(postgres_schema) as connection:
        connection.execute(statement.encode())
    with PostgresChatMemoryRepository(postgres_schema) as repository:
        for call in (lambda: repository.append("c1", UserMessage("y")), lambda: repository.count("c1")):
            with pytest.raises(MemoryStoreError, match="schema version 99, and this promptkit knows versions up to 1"):
                call()
    with psycopg.connect(postgres_schema) as connection:
        assert connection.execute("SELECT messages FROM promptkit_conversations").fetchall() == [(1,)]


def test_a_redis_schema_from_the_future_is_refused_untouched(redis_server: RedisServer) -> None:
    import redis

    client = redis.Redis.from_url(redis_server.url(3))
    with client, RedisChatMemoryRepository(redis_server.url(3)) as repository:
        repository.append("c1", UserMessage("x"))
        client.set("promptkit:schema", 99)
        before = client.dbsize()
        calls: list[Callable[[], object]] = [
            lambda: repository.append("c1", UserMessage("y")),
            lambda: repository.append("c2", UserMessage("y")),
            lambda: repository.last("c1", 1),
            lambda: list(repository.read("c1")),
            repository.conversation_ids,
            lambda: repository.count("c1"),
            lambda: repository.delete("c1"),
        ]
        for call in calls:
            with pytest.raises(MemoryStoreError, match="schema version 99, and this promptkit knows versions up to 1"):
                call()
        assert (client.dbsize(), client.xlen("promptkit:log:c1")) == (before, 1)
        client.flushdb()
