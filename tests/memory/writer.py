"""Append to one conversation as a process of its own, and tell each answer: what was told is acknowledged.

``python -m tests.memory.writer STORE ADDRESS NAME COUNT``: each line that it prints is the number of a turn that is
stored. A turn is one append of two messages.
"""

from __future__ import annotations

import sys
from itertools import count

from promptkit import AssistantMessage, MemoryStoreError, UserMessage
from promptkit.memory._repository import BaseRepository
from promptkit.memory.postgres import PostgresChatMemoryRepository
from promptkit.memory.redis import RedisChatMemoryRepository
from promptkit.memory.sqlite import SQLiteChatMemoryRepository

CONVERSATION = "c1"


def opened(store: str, address: str) -> BaseRepository:
    """Open a store where its address says."""
    if store == "sqlite":
        return SQLiteChatMemoryRepository(address)
    if store == "postgres":
        return PostgresChatMemoryRepository(address, timeout=2)
    return RedisChatMemoryRepository(address, timeout=5)


def turn(name: str, number: int) -> list[UserMessage | AssistantMessage]:
    """Make the messages of one append; the second is large, so that half of them would show."""
    return [UserMessage(f"{name} {number}"), AssistantMessage(f"{name} {number} " + "x" * (number % 7 * 500))]


def main(store: str, address: str, name: str, turns: str) -> None:
    """Append turns until they are enough, or until the store fails."""
    with opened(store, address) as repository:
        for number in range(int(turns)) if turns.isdigit() else count():
            try:
                repository.append(CONVERSATION, turn(name, number))
            except MemoryStoreError as error:
                print(error, file=sys.stderr)
                return
            print(number, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
