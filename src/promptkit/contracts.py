"""Define what a chat model and a chat memory are, and how a model gets the forms of a call that it lacks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from promptkit.messages import Message
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse

__all__ = [
    "AnyChatModel",
    "AsyncChatModel",
    "ChatMemory",
    "ChatMemoryRepository",
    "ChatModel",
    "StoredMessage",
    "StreamingChatModel",
    "acall",
    "astream",
    "call",
    "stream",
]


class ChatModel(Protocol):
    """Answer a prompt.

    >>> from promptkit import AssistantMessage, ChatResponse, Generation
    >>> class Parrot:
    ...     def call(self, prompt: Prompt) -> ChatResponse:
    ...         return ChatResponse(Generation(AssistantMessage(prompt.text)))
    >>> call(Parrot(), Prompt("hi")).text
    'hi'
    """

    def call(self, prompt: Prompt) -> ChatResponse:
        """Answer a prompt, whole.

        Raises:
            ModelError: The call failed.
            AdapterError: The prompt holds what this model cannot take.
        """


class StreamingChatModel(Protocol):
    """Answer a prompt piece by piece."""

    def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
        """Answer a prompt in chunks, as they come; closing the iterator stops the model.

        Raises:
            ModelError: The call failed; ``partial`` holds what had arrived.
            AdapterError: The prompt holds what this model cannot take.
        """


class AsyncChatModel(Protocol):
    """Answer a prompt without blocking the event loop."""

    async def acall(self, prompt: Prompt) -> ChatResponse:
        """Answer a prompt, whole; see `ChatModel.call`."""

    def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
        """Answer a prompt in chunks; see `StreamingChatModel.stream`."""


AnyChatModel = ChatModel | StreamingChatModel | AsyncChatModel
"""A model that has at least one form of a call."""


def _own(chat_model: object, name: str) -> Any:
    return getattr(chat_model, name, None)


def call(chat_model: AnyChatModel, prompt: Prompt) -> ChatResponse:
    """Call any model, whole: by its ``call``, else by joining its ``stream``.

    Raises:
        TypeError: The model is async only.
    """
    from_call = _own(chat_model, "call")
    if from_call is not None:
        return from_call(prompt)  # type: ignore[no-any-return]
    if _own(chat_model, "stream") is not None:
        return ChatResponse.from_chunks(stream(chat_model, prompt))
    raise _lacks(chat_model, "call", "acall")


def stream(chat_model: AnyChatModel, prompt: Prompt) -> Iterator[ChatChunk]:
    """Stream from any model: by its ``stream``, else as one chunk of its ``call``.

    Raises:
        TypeError: The model is async only.
    """
    from_stream = _own(chat_model, "stream")
    if from_stream is not None:
        yield from from_stream(prompt)
        return
    if _own(chat_model, "call") is None:
        raise _lacks(chat_model, "stream", "astream")
    yield from call(chat_model, prompt).to_chunks()


async def acall(chat_model: AnyChatModel, prompt: Prompt) -> ChatResponse:
    """Call any model without blocking: by its ``acall``, else its ``call`` in a thread."""
    from_acall = _own(chat_model, "acall")
    if from_acall is not None:
        return await from_acall(prompt)  # type: ignore[no-any-return]
    import asyncio

    return await asyncio.to_thread(call, chat_model, prompt)


async def astream(chat_model: AnyChatModel, prompt: Prompt) -> AsyncIterator[ChatChunk]:
    """Stream from any model without blocking: by its ``astream``, else its ``stream`` in a thread, chunk by chunk."""
    from_astream = _own(chat_model, "astream")
    if from_astream is not None:
        async for chunk in from_astream(prompt):
            yield chunk
        return
    if _own(chat_model, "stream") is None:
        for chunk in (await acall(chat_model, prompt)).to_chunks():
            yield chunk
        return
    import asyncio

    chunks = stream(chat_model, prompt)
    try:
        while (chunk_or_none := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk_or_none
    finally:
        await asyncio.to_thread(chunks.close)  # type: ignore[attr-defined]


def _lacks(chat_model: object, wanted: str, present: str) -> TypeError:
    if _own(chat_model, present) is None and _own(chat_model, "acall") is None:
        return TypeError(f"{type(chat_model).__name__} is no chat model: it has none of call, stream, acall, astream")
    return TypeError(f"{type(chat_model).__name__} has no {wanted}: it is async only; use await {present}(…)")


class StoredMessage(NamedTuple):
    """Hold a message as a store keeps it."""

    sequence: int
    """Its number in the conversation; numbers grow, and need not be adjacent."""
    message: Message


class ChatMemoryRepository(Protocol):
    """Keep conversations as append-only logs with stored sequence numbers.

    Reading the last messages does not depend on how many there are. Each method has an async twin.
    """

    def append(self, conversation_id: str, messages: Message | Iterable[Message]) -> tuple[int, ...]:
        """Append messages, all or none, and give their sequence numbers.

        A message whose id is already stored with equal content is not stored again: its old number comes back.

        Raises:
            MemoryStoreError: An id is stored with other content, or the store failed.
        """

    def last(self, conversation_id: str, n: int, *, system: int = 0) -> tuple[StoredMessage, ...]:
        """Give the last ``n`` messages, oldest first; an unknown conversation has none.

        ``system`` asks besides for so many system messages, the newest of those that stand before the ``n``.
        """

    def read(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[StoredMessage]:
        """Stream the messages with a sequence number above ``after``, oldest first, at most ``limit``.

        ``progress`` is called now and then with the number of messages given and of those to give.
        """

    def conversation_ids(self, *, after: str | None = None, limit: int | None = None) -> tuple[str, ...]:
        """Give conversation ids in order of code points, those above ``after``, at most ``limit``."""

    def count(self, conversation_id: str) -> int:
        """Count the messages of a conversation."""

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation; an unknown one is no error."""

    async def aappend(self, conversation_id: str, messages: Message | Iterable[Message]) -> tuple[int, ...]:
        """Do `append` without blocking."""

    async def alast(self, conversation_id: str, n: int, *, system: int = 0) -> tuple[StoredMessage, ...]:
        """Do `last` without blocking."""

    def aread(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> AsyncIterator[StoredMessage]:
        """Do `read` without blocking."""

    async def aconversation_ids(self, *, after: str | None = None, limit: int | None = None) -> tuple[str, ...]:
        """Do `conversation_ids` without blocking."""

    async def acount(self, conversation_id: str) -> int:
        """Do `count` without blocking."""

    async def adelete(self, conversation_id: str) -> None:
        """Do `delete` without blocking."""


class ChatMemory(Protocol):
    """Remember conversations, and show of each what the model should see."""

    def add(self, conversation_id: str, messages: Message | Iterable[Message]) -> None:
        """Remember messages."""

    def get(self, conversation_id: str) -> tuple[Message, ...]:
        """Give the window of the conversation that goes to the model, oldest first."""

    def clear(self, conversation_id: str) -> None:
        """Forget a conversation."""
