"""Define what a chat model and a chat memory are, and how a model gets the forms of a call that it lacks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from promptkit.messages import Message
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse

if TYPE_CHECKING:
    from asyncio import Future

__all__ = [
    "AnyChatModel",
    "AsyncChatModel",
    "ChatMemory",
    "ChatMemoryRepository",
    "ChatModel",
    "StoredMessage",
    "StreamingChatModel",
    "acall",
    "acall_in_thread",
    "astream",
    "astream_in_thread",
    "call",
    "stream",
]


class ChatModel(Protocol):
    """Answer a prompt.

    A model that holds its answer to the ``output_schema`` of the options says so by ``takes_output_schema``: ``True``
    for any JSON Schema, else the name of the subset that it takes (`promptkit.converters.SUBSETS`). A client tells other
    models in words what answer is wanted.

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

_STUBS: Mapping[str, object] = {
    "call": ChatModel.call,
    "stream": StreamingChatModel.stream,
    "acall": AsyncChatModel.acall,
    "astream": AsyncChatModel.astream,
}


def _own(chat_model: object, name: str) -> Any:
    """Find a method of the model; what a class only inherits from the protocols above is none."""
    inherited = getattr(type(chat_model), name, None) is _STUBS[name]
    return None if inherited else getattr(chat_model, name, None)


def call(chat_model: AnyChatModel, prompt: Prompt) -> ChatResponse:
    """Call any model, whole: by its ``call``, else by joining its ``stream``.

    Raises:
        TypeError: The model is async only.
    """
    from_call = _own(chat_model, "call")
    if from_call is not None:
        return from_call(prompt)  # type: ignore[no-any-return]
    if _own(chat_model, "stream") is None:
        raise _lacks(chat_model, "call", "acall")
    return ChatResponse.from_chunks(stream(chat_model, prompt))


def stream(chat_model: AnyChatModel, prompt: Prompt) -> Generator[ChatChunk, None, None]:
    """Stream from any model: by its ``stream``, else as one chunk of its ``call``.

    Raises:
        TypeError: The model is async only.
    """
    for name in ("stream", "call"):
        if (method := _own(chat_model, name)) is not None:
            return _streamed(method, prompt, whole=name == "call")
    raise _lacks(chat_model, "stream", "astream")


def _streamed(method: Callable[[Prompt], Any], prompt: Prompt, *, whole: bool) -> Generator[ChatChunk, None, None]:
    """Call the model when the first chunk is asked for: a stream that nobody reads costs nothing."""
    answer = method(prompt)
    yield from answer.to_chunks() if whole else answer


async def acall(chat_model: AnyChatModel, prompt: Prompt) -> ChatResponse:
    """Call any model without blocking: by its ``acall``, else by joining its ``astream``, else in a thread."""
    from_acall = _own(chat_model, "acall")
    if from_acall is not None:
        return await from_acall(prompt)  # type: ignore[no-any-return]
    if _own(chat_model, "astream") is None:
        return await acall_in_thread(chat_model, prompt)
    chunks: list[ChatChunk] = []
    failure: list[Exception] = []
    try:
        async for chunk in astream(chat_model, prompt):
            chunks.append(chunk)  # noqa: PERF401 - what came before an error is kept
    except Exception as error:  # noqa: BLE001 - raised again below, with what had arrived
        failure.append(error)
    return ChatResponse.from_chunks(_replayed(chunks, failure))


def _replayed(chunks: list[ChatChunk], failure: list[Exception]) -> Iterator[ChatChunk]:
    yield from chunks
    for error in failure:
        raise error


def astream(chat_model: AnyChatModel, prompt: Prompt) -> AsyncGenerator[ChatChunk, None]:
    """Stream from any model without blocking: by its ``astream``, else by its ``stream`` in threads, else as one chunk.

    Closing it closes the model's own stream; see `astream_in_thread` for the second case.
    """
    if (from_astream := _own(chat_model, "astream")) is not None:
        return _astreamed(from_astream, prompt)
    if _own(chat_model, "stream") is not None:
        return astream_in_thread(chat_model, prompt)
    return _awaited(chat_model, prompt)


async def _astreamed(
    method: Callable[[Prompt], AsyncIterator[ChatChunk]], prompt: Prompt
) -> AsyncGenerator[ChatChunk, None]:
    chunks = method(prompt)
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


async def _awaited(chat_model: AnyChatModel, prompt: Prompt) -> AsyncGenerator[ChatChunk, None]:
    for chunk in (await acall(chat_model, prompt)).to_chunks():
        yield chunk


async def acall_in_thread(chat_model: AnyChatModel, prompt: Prompt) -> ChatResponse:
    """Call a sync model in a thread; a sync model's own ``acall`` is this one line.

    The thread sees the caller's context variables. Cancelling stops the waiting, not the thread.
    """
    import asyncio

    return await asyncio.to_thread(call, chat_model, prompt)


async def astream_in_thread(chat_model: AnyChatModel, prompt: Prompt) -> AsyncGenerator[ChatChunk, None]:
    """Stream from a sync model, each chunk fetched in a thread; a sync model's own ``astream`` is this one line.

    All steps see one copy of the caller's context variables. Cancelling returns at once; a step that is running then
    closes the model's stream when it ends.
    """
    import asyncio

    steps = _Steps(stream(chat_model, prompt))
    loop = asyncio.get_running_loop()
    cancelled = False
    try:
        while (chunk := await loop.run_in_executor(None, steps.next)) is not _END:
            yield chunk
    except asyncio.CancelledError:
        cancelled = True
        raise
    finally:
        closing = loop.run_in_executor(None, steps.close)
        if cancelled:
            closing.add_done_callback(_forget)
        else:
            await closing


def _forget(future: Future[None]) -> None:
    """Take the outcome of what nobody waits for, so that asyncio does not report it as never retrieved."""
    if not future.cancelled():
        future.exception()


_END = object()


class _Steps:
    """Run the steps of a generator in changing threads, and close it while one may be running."""

    def __init__(self, chunks: Generator[ChatChunk, None, None]) -> None:
        import contextvars
        import threading

        self._chunks = chunks
        self._context = contextvars.copy_context()
        self._lock = threading.Lock()
        self._running = False
        self._closed = False

    def next(self) -> Any:
        """Give the next chunk, or `_END`."""
        with self._lock:
            if self._closed:
                return _END
            self._running = True
        try:
            return self._context.run(next, self._chunks, _END)
        finally:
            with self._lock:
                self._running = False
                close = self._closed
            if close:
                self._context.run(self._chunks.close)

    def close(self) -> None:
        """Close the generator now, or at the end of the step that is running."""
        with self._lock:
            self._closed = True
            close = not self._running
        if close:
            self._context.run(self._chunks.close)


def _lacks(chat_model: object, wanted: str, present: str) -> TypeError:
    kind = type(chat_model).__name__
    for name in (present, "acall", "astream"):
        if _own(chat_model, name) is not None:
            return TypeError(f"{kind} has no {wanted}: it is async only; use await promptkit.contracts.{present}(…)")
    return TypeError(f"{kind} is no chat model: it has none of call, stream, acall and astream")


class StoredMessage(NamedTuple):
    """Hold a message as a store keeps it.

    >>> from promptkit import UserMessage
    >>> StoredMessage(7, UserMessage("hi")).message.text
    'hi'
    """

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
