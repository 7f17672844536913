"""Check what callers give to a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from threading import Lock

from promptkit.errors import MemoryStoreError, PromptError
from promptkit.messages import BuiltinMessage, Message, as_builtin, check_message

__all__ = ["ForkSafeLock", "Progress", "as_builtins", "check_count", "check_id", "clash"]

Progress = Callable[[int, int], None]
"""Be told how far a long read is: messages given so far, and messages in all when it began."""


_MOST = (1 << 63) - 1
"""The largest number that every store can compare with; no conversation is so long."""


def check_id(conversation_id: object) -> str:
    """Give the id back if it can name a conversation: any text that is not blank; no two texts name the same one.

    Raises:
        MemoryStoreError: It is no text, or blank.
    """
    if not isinstance(conversation_id, str) or not conversation_id.strip():
        raise MemoryStoreError(f"conversation_id must be a str that is not blank, not {conversation_id!r:.80}")
    return conversation_id


def check_count(value: object, name: str) -> int:
    """Give a number of messages, or a sequence number, back if it is one.

    Raises:
        MemoryStoreError: It is no int, or below 0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise MemoryStoreError(f"{name} must be an int of 0 or more, not {value!r:.80}")
    return min(value, _MOST)


def as_builtins(messages: Message | Iterable[Message]) -> list[BuiltinMessage]:
    """Turn what is to be stored, one message or several, into messages of ours.

    Raises:
        PromptError: Something in it is no message.
    """
    if hasattr(messages, "message_type"):
        return [as_builtin(messages)]  # type: ignore[arg-type]
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise PromptError(f"messages must be a message or messages in order, not {messages!r:.80}")
    return [as_builtin(check_message(message, f"messages[{index}]")) for index, message in enumerate(messages)]


def clash(conversation_id: str, message: BuiltinMessage, sequence: int) -> MemoryStoreError:
    """Make the error for an id that is stored with other content."""
    return MemoryStoreError(
        f"the conversation {conversation_id!r:.80} has another message with the id {message.id!r:.80}, as number "
        f"{sequence}; nothing was stored. Give a new message a new id",
        conversation_id=conversation_id,
    )


class ForkSafeLock:
    """Be a lock that a forked child finds open, whoever held it in the parent.

    >>> with ForkSafeLock():
    ...     print("alone")
    alone
    """

    __slots__ = ("_lock", "_process")

    def __init__(self) -> None:
        self._lock = Lock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self.__init__()  # type: ignore[misc]
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()
