"""Hold stores against many processes that write at once, and against processes that are killed while they write."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from promptkit.memory._repository import BaseRepository
from tests.memory import writer
from tests.memory.servers import PostgresServer, RedisServer, Server, running

PROCESSES = 8


def start(store: str, address: str, name: object, turns: object) -> subprocess.Popen[str]:
    """Start a writer."""
    command = [sys.executable, "-m", "tests.memory.writer", store, address, str(name), str(turns)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root())


def root() -> Path:
    return Path(__file__).parents[2]


def stored_turns(repository: BaseRepository) -> list[list[str]]:
    """Read the conversation turn by turn, and check that each is whole, and stands where its append put it."""
    messages = list(repository.read(writer.CONVERSATION))
    assert [stored.sequence for stored in messages] == list(range(1, len(messages) + 1))
    assert repository.count(writer.CONVERSATION) == len(messages)
    turns = []
    for at in range(0, len(messages), 2):
        name, number = str(messages[at].message.content).split()
        assert [stored.message for stored in messages[at : at + 2]] == writer.turn(name, int(number))
        turns.append([name, number])
    return turns


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Name each store that several processes can share, and where it is."""
    if request.param == "sqlite":
        return "sqlite", str(tmp_path / "chats.db")
    if request.param == "postgres":
        return "postgres", str(request.getfixturevalue("postgres_schema"))
    server: RedisServer = request.getfixturevalue("redis_server")
    import redis

    with redis.Redis.from_url(server.url(7)) as client:
        client.flushdb()
    return "redis", server.url(7)


def test_eight_processes_lose_nothing_and_double_nothing(address: tuple[str, str]) -> None:
    turns = 40
    writers = [start(*address, f"w{number}", turns) for number in range(PROCESSES)]
    for each in writers:
        told, errors = each.communicate()
        assert (told.split(), errors) == ([str(number) for number in range(turns)], "")

    with writer.opened(*address) as repository:
        stored = stored_turns(repository)
    assert len(stored) == PROCESSES * turns
    for number in range(PROCESSES):
        assert [turn for name, turn in stored if name == f"w{number}"] == [str(turn) for turn in range(turns)]


class Campaign:
    """Kill again and again, and check after each kill that all that was acknowledged is there."""

    def __init__(self, store: str, address: str, server: Server | None) -> None:
        self.store, self.address, self.server = store, address, server
        self.acknowledged: list[tuple[str, int]] = []
        self.chance = random.Random(0)

    def run(self, kills: int) -> int:
        """Kill so often, and give the number of turns that were acknowledged."""
        for number in range(kills):
            name = f"w{number}"
            process = start(self.store, self.address, name, "on")
            kill: Callable[[], Any] = process.kill if self.server is None or number % 2 else self.server.kill
            timer = Timer(self.chance.uniform(0, 0.05), kill)
            assert process.stdout is not None
            for line in process.stdout:
                if not timer.is_alive() and not timer.finished.is_set():
                    timer.start()
                if line.endswith("\n"):  # the last one may be cut short
                    self.acknowledged.append((name, int(line)))
            process.communicate()
            timer.join()
            if self.server is not None and self.server.process is None:
                self.server.start()
            self.check()
        return len(self.acknowledged)

    def check(self) -> None:
        """See that what was told is there, in its order, and that at most one more turn of each writer is."""
        with writer.opened(self.store, self.address) as repository:
            found = [(name, int(number)) for name, number in stored_turns(repository)]
        numbers: dict[str, list[int]] = {}
        for name, number in found:
            numbers.setdefault(name, []).append(number)
        assert all(each == list(range(len(each))) for each in numbers.values())
        told: dict[str, int] = {}
        for name, _ in self.acknowledged:
            told[name] = told.get(name, 0) + 1
        assert all(0 <= len(each) - told.get(name, 0) <= 1 for name, each in numbers.items())
        assert set(told) <= set(numbers)


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Campaign]:
    """Give each store a server of its own, as durable as its table says."""
    if request.param == "sqlite":
        yield Campaign("sqlite", str(tmp_path / "chats.db"), None)
    elif request.param == "postgres":
        with running(PostgresServer()) as server:
            yield Campaign("postgres", server.conninfo(), server)
    else:
        with running(RedisServer()) as server:
            yield Campaign("redis", server.url(), server)


def test_twenty_kills_lose_nothing_that_was_acknowledged(campaign: Campaign) -> None:
    assert campaign.run(20) >= 20


@pytest.mark.soak
def test_two_hundred_kills_lose_nothing_that_was_acknowledged(campaign: Campaign) -> None:
    acknowledged = campaign.run(200)

    print(f"{campaign.store}: 200 kills, {acknowledged} turns acknowledged, none lost")
    assert acknowledged >= 200
