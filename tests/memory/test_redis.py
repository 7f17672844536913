"""Hold what only the Redis store has: a time to live, keys of its own, scripts that a server may forget."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep
from typing import Any

import pytest

from promptkit import MemoryStoreError, SystemMessage, UserMessage
from promptkit.memory.redis import RedisChatMemoryRepository
from tests.memory.servers import RedisServer

DATABASE = 5


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[Any]:
    """Look at a database of the tests here, and leave it empty."""
    import redis

    with redis.Redis.from_url(redis_server.url(DATABASE)) as opened:
        yield opened
        opened.flushdb()


@pytest.fixture
def url(redis_server: RedisServer, client: Any) -> str:
    """Name that database."""
    return redis_server.url(DATABASE)


def test_a_conversation_ends_a_time_after_its_last_append(url: str, client: Any) -> None:
    with RedisChatMemoryRepository(url, ttl=100) as repository:
        repository.append("c1", [SystemMessage("s"), UserMessage("a", id="m1")])
        keys = [f"promptkit:{kind}:c1" for kind in ("log", "ids", "system")]
        assert all(99_000 < client.pttl(key) <= 100_000 for key in keys)

        for key in keys:
            client.pexpire(key, 5_000)
        repository.append("c1", UserMessage("b"))
        assert all(99_000 < client.pttl(key) <= 100_000 for key in keys)


def test_a_conversation_that_ended_is_gone_whole(url: str, client: Any) -> None:
    with RedisChatMemoryRepository(url, ttl=0.05) as brief, RedisChatMemoryRepository(url) as lasting:
        brief.append("short", [SystemMessage("s"), UserMessage("a", id="m1")])
        lasting.append("long", UserMessage("a"))
        assert lasting.conversation_ids() == ("long", "short")
        while client.exists("promptkit:log:short"):
            sleep(0.01)

        assert lasting.conversation_ids() == ("long",)
        assert client.zcard("promptkit:conversations") == 1
        assert lasting.count("short") == 0
        assert lasting.last("short", 5, system=5) == ()
        assert lasting.append("short", UserMessage("other", id="m1")) == (1,)


def test_ids_that_outlived_their_log_are_not_believed(url: str, client: Any) -> None:
    with RedisChatMemoryRepository(url) as repository:
        repository.append("c1", [SystemMessage("s"), UserMessage("a", id="m1")])
        client.delete("promptkit:log:c1")

        assert repository.append("c1", UserMessage("a", id="m1")) == (1,)
        assert [stored.message for stored in repository.read("c1")] == [UserMessage("a", id="m1")]
        assert repository.last("c1", 0, system=1) == ()


@pytest.mark.parametrize("ttl", [0, -1, -0.5])
def test_a_time_to_live_is_above_zero(ttl: float) -> None:
    with pytest.raises(MemoryStoreError, match="ttl must be a number of seconds above 0"):
        RedisChatMemoryRepository("redis://localhost", ttl=ttl)


def test_a_server_that_forgot_the_scripts_gets_them_again(url: str, client: Any) -> None:
    with RedisChatMemoryRepository(url) as repository:
        repository.append("c1", UserMessage("a"))
        client.script_flush()

        assert repository.append("c1", UserMessage("b")) == (2,)
        client.script_flush()
        assert repository.count("c1") == 2


def test_prefixes_keep_applications_apart(url: str, client: Any) -> None:
    with RedisChatMemoryRepository(url, prefix="a") as one, RedisChatMemoryRepository(url, prefix="{b}") as other:
        one.append("c1", UserMessage("a"))
        other.append("c1", UserMessage("b"))
        one.delete("c1")

        assert (one.conversation_ids(), other.conversation_ids()) == ((), ("c1",))
        assert {key.decode() for key in client.scan_iter()} == {
            "a:schema", "{b}:schema", "{b}:conversations", "{b}:log:c1",
        }  # fmt: skip


def test_keys_of_others_are_an_error(url: str, client: Any) -> None:
    client.set("promptkit:log:c1", "mine")
    with RedisChatMemoryRepository(url) as repository:
        for call in (lambda: repository.append("c1", UserMessage("a")), lambda: repository.count("c1")):
            with pytest.raises(MemoryStoreError, match="WRONGTYPE") as caught:
                call()
            assert caught.value.conversation_id == "c1"
    assert client.get("promptkit:log:c1") == b"mine"


def test_a_server_without_memory_is_an_error_and_loses_nothing(url: str, client: Any) -> None:
    with RedisChatMemoryRepository(url) as repository:
        repository.append("c1", UserMessage("a", id="m1"))
        before = client.config_get("maxmemory")["maxmemory"]
        client.config_set("maxmemory", 1)
        try:
            with pytest.raises(MemoryStoreError, match="OOM"):
                repository.append("c1", [UserMessage("b"), UserMessage("c", id="m2")])
            with pytest.raises(MemoryStoreError, match="OOM"):
                repository.append("c2", UserMessage("b"))
        finally:
            client.config_set("maxmemory", before)

        assert [stored.message.content for stored in repository.read("c1")] == ["a"]
        assert repository.conversation_ids() == ("c1",)
        assert repository.append("c1", UserMessage("c", id="m2")) == (2,)


def test_a_url_that_asks_for_text_makes_no_difference(url: str) -> None:
    with RedisChatMemoryRepository(f"{url}&decode_responses=true") as repository:
        repository.append("\ud83e", UserMessage("a"))

        assert repository.conversation_ids() == ("\ud83e",)


def test_the_entries_can_be_read_by_people(url: str, client: Any) -> None:
    with RedisChatMemoryRepository(url) as repository:
        repository.append("Zoë", UserMessage("xin chào"))

    ((number, fields),) = client.xrange("promptkit:log:Zoë")
    assert number == b"1-0"
    assert fields[b"role"] == b"user"
    assert "xin chào" in fields[b"body"].decode()
