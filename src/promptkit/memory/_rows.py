"""Turn messages into the rows that stores keep, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from promptkit import serialization
from promptkit.contracts import StoredMessage
from promptkit.errors import MemoryStoreError, SerializationError
from promptkit.memory._arguments import clash
from promptkit.messages import BuiltinMessage

__all__ = ["PAGE_BYTES", "PAGE_ROWS", "Batch", "Row", "id_bytes", "id_text", "stored_messages"]

PAGE_ROWS = 256
"""Messages that a read takes at a time, at most."""

PAGE_BYTES = 1 << 22
"""Bytes of a page above which no further message joins it, so that long reads of large messages stay small."""


def id_bytes(text: str) -> bytes:
    """Give the bytes that stand for an id, lone surrogates included; they sort as its code points do."""
    return text.encode("utf-8", "surrogatepass")


def id_text(data: bytes) -> str:
    """Give the id back; see `id_bytes`."""
    return bytes(data).decode("utf-8", "surrogatepass")


Row = tuple[str, bytes | None, str]
"""What a store keeps of a message: its role, the bytes of its id if it has one, and itself as JSON."""

_ROLES = {kind: kind.message_type.value for kind in get_args(BuiltinMessage)}


class Batch:
    """Hold the messages of one append as rows; messages that come with one id twice make one row.

    >>> from promptkit import UserMessage
    >>> batch = Batch("c1", [UserMessage("Hi", id="m1"), UserMessage("Hi", id="m1")])
    >>> len(batch.rows), batch.spread([7])
    (1, (7, 7))
    """

    __slots__ = ("_messages", "_name", "_places", "rows")

    def __init__(self, name: str, messages: list[BuiltinMessage]) -> None:
        self._name = name
        self._messages = messages
        self._places: list[int] | None = None
        if len(messages) > 1:
            self._drop_repeated()
        try:
            self.rows: list[Row] = [
                (_ROLES[type(message)], id_bytes(message.id) if message.id else None, serialization.dumps(message))
                for message in self._messages
            ]
        except SerializationError:
            _refuse(messages)
            raise

    def _drop_repeated(self) -> None:
        ids = [message.id for message in self._messages if message.id]
        if len(ids) == len(set(ids)):
            return
        messages: list[BuiltinMessage] = []
        self._places = []
        known: dict[str, int] = {}
        for message in self._messages:
            place = known.get(message.id, len(messages)) if message.id else len(messages)
            if place == len(messages):
                messages.append(message)
                if message.id:
                    known[message.id] = place
            elif message != messages[place]:
                raise MemoryStoreError(
                    f"two messages of one append have the id {message.id!r:.80}; nothing was stored",
                    conversation_id=self._name,
                )
            self._places.append(place)
        self._messages = messages

    def spread(self, sequences: dict[int, int] | Sequence[int]) -> tuple[int, ...]:
        """Give each message the number of its row."""
        if self._places is None and not isinstance(sequences, dict):
            return tuple(sequences)
        return tuple([sequences[place] for place in self._places or range(len(self.rows))])

    def settle(self, known: Iterable[tuple[int, int, str]]) -> None:
        """Take the stored body of messages whose ids are stored, so that another try finds nothing different.

        Args:
            known: Place of the row, number and body in the store.

        Raises:
            MemoryStoreError: A stored message differs.
        """
        for place, sequence, body in known:
            message = self._messages[place]
            if stored_message(self._name, sequence, body) != message:
                raise clash(self._name, message, sequence)
            self.rows[place] = (*self.rows[place][:2], body)


def _refuse(messages: list[BuiltinMessage]) -> None:
    """Say which message cannot be stored."""
    for index, message in enumerate(messages):
        try:
            serialization.dumps(message)
        except SerializationError as error:
            path = ".".join(filter(None, [f"messages[{index}]", error.path]))
            raise SerializationError(str(error).removeprefix(f"{error.path}: "), path=path) from error


def stored_message(name: str, sequence: int, body: str) -> BuiltinMessage:
    """Read one stored message.

    Raises:
        MemoryStoreError: It cannot be read.
    """
    try:
        message = serialization.loads(body)
        if isinstance(message, BuiltinMessage):
            return message
        problem: object = f"it is a {type(message).__name__}"
    except SerializationError as error:
        problem = error
    raise MemoryStoreError(
        f"message {sequence} of the conversation {name!r:.80} cannot be read: {problem}", conversation_id=name
    )


def stored_messages(name: str, rows: Iterable[tuple[int, Any]]) -> tuple[StoredMessage, ...]:
    """Read stored messages, given as number and body."""
    return tuple([StoredMessage(sequence, stored_message(name, sequence, body)) for sequence, body in rows])
