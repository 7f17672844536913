"""Join advisors and a model into one way for each form of a call."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, closing
from typing import Any

from promptkit import contracts
from promptkit.client.advisors._steps import SteppedAdvisor, aclosable, closable
from promptkit.client.advisors.base import (
    AdvisorLike,
    AsyncCallNext,
    AsyncStreamNext,
    CallNext,
    StreamNext,
    async_only,
    is_async,
)
from promptkit.client.request import ChatClientRequest
from promptkit.contracts import AnyChatModel
from promptkit.errors import ModelError, PromptError
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, ChunkAccumulator

__all__ = ["acall_way", "aclosable", "as_advisor", "astream_way", "call_way", "closable", "in_order", "stream_way"]

_FORMS = ("advise", "aadvise", "advise_stream", "aadvise_stream")


class _FunctionAsAdvisor:
    """Be an advisor whose one form is a function."""

    __slots__ = ("aadvise", "advise", "order")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.order = 0
        setattr(self, "aadvise" if is_async(function) else "advise", function)


def as_advisor(given: AdvisorLike) -> Any:
    """Take an advisor as it is, and a function as the one form of an advisor."""
    if isinstance(given, type):
        raise PromptError(f"an advisor is an object: write {given.__name__}(…), not the class")
    if any(hasattr(given, name) for name in _FORMS):
        return given
    if not callable(given):
        raise PromptError(f"{given!r:.80} is no advisor: it has no advise(request, next), and is no function")
    return _FunctionAsAdvisor(given)


def in_order(advisors: Iterable[Any]) -> tuple[Any, ...]:
    """Sort advisors, the outermost first; equals stay in the order in which they were given."""
    return tuple(sorted(advisors, key=lambda advisor: getattr(advisor, "order", 0)))


def _checked(answer: Any, who: object) -> ChatResponse:
    if not isinstance(answer, ChatResponse):
        hint = "; does it lack a `return next(request)`?" if answer is None else ""
        raise PromptError(f"{who!r:.200} gave {answer!r:.80}, not a ChatResponse{hint}")
    return answer


def _request(given: Any) -> ChatClientRequest:
    if not isinstance(given, ChatClientRequest):
        raise PromptError(f"next() takes a ChatClientRequest, not {given!r:.80}")
    return given


Finish = Callable[[ChatClientRequest], Prompt]
"""Makes the prompt of a request as it goes to the model."""


def call_way(advisors: tuple[Any, ...], chat_model: AnyChatModel, finish: Finish) -> CallNext:
    """Give the way of a call: through the advisors, the first one first, to the model."""

    def ask(request: ChatClientRequest) -> ChatResponse:
        if _request(request).answer is not None:
            return request.answer  # type: ignore[return-value]
        return _checked(contracts.call(chat_model, finish(request)), chat_model)

    way: CallNext = ask
    for advisor in reversed(advisors):
        way = _through(advisor, way)
    return way


def _through(advisor: Any, rest: CallNext) -> CallNext:
    advise = getattr(advisor, "advise", None)
    if advise is None:
        raise async_only(advisor)
    return lambda request: _checked(advise(_request(request), rest), advisor)


def stream_way(advisors: tuple[Any, ...], chat_model: AnyChatModel, finish: Finish) -> StreamNext:
    """Give the way of a stream."""

    def ask(request: ChatClientRequest) -> Iterator[ChatChunk]:
        if _request(request).answer is not None:
            return request.answer.to_chunks()  # type: ignore[union-attr]
        return contracts.stream(chat_model, finish(request))

    way: StreamNext = ask
    for advisor in reversed(advisors):
        way = _stream_through(advisor, way)
    return way


def _stream_through(advisor: Any, rest: StreamNext) -> StreamNext:
    if isinstance(advisor, SteppedAdvisor):
        return lambda request: advisor.advise_stream(_request(request), rest)
    advise_stream = getattr(advisor, "advise_stream", None)
    if advise_stream is None:
        advise = _through(advisor, lambda request: ChatResponse.from_chunks(rest(request)))
        return lambda request: advise(request).to_chunks()

    def way(request: ChatClientRequest) -> Iterator[ChatChunk]:
        with ExitStack() as opened:

            def kept(inner: ChatClientRequest) -> Iterator[ChatChunk]:
                return opened.enter_context(closing(closable(rest(inner))))

            yield from closable(advise_stream(_request(request), kept))

    return way


def acall_way(advisors: tuple[Any, ...], chat_model: AnyChatModel, finish: Finish) -> AsyncCallNext:
    """Give the way of an async call."""

    async def ask(request: ChatClientRequest) -> ChatResponse:
        if _request(request).answer is not None:
            return request.answer  # type: ignore[return-value]
        return _checked(await contracts.acall(chat_model, finish(request)), chat_model)

    way: AsyncCallNext = ask
    for advisor in reversed(advisors):
        way = _athrough(advisor, way)
    return way


def _athrough(advisor: Any, rest: AsyncCallNext) -> AsyncCallNext:
    aadvise = getattr(advisor, "aadvise", None) or functools.partial(_advise_in_thread, advisor)

    async def way(request: ChatClientRequest) -> ChatResponse:
        return _checked(await aadvise(_request(request), rest), advisor)

    return way


async def _advise_in_thread(advisor: Any, request: ChatClientRequest, rest: AsyncCallNext) -> ChatResponse:
    """Run a sync advisor in a thread; what it passes on runs in the loop of the caller."""
    import asyncio

    loop = asyncio.get_running_loop()
    running: list[Any] = []

    def pass_on(inner: ChatClientRequest) -> ChatResponse:
        running.append(asyncio.run_coroutine_threadsafe(_awaited(rest(inner)), loop))
        return running[-1].result()  # type: ignore[no-any-return]

    try:
        return await asyncio.to_thread(advisor.advise, request, pass_on)
    finally:
        for future in running:
            future.cancel()


async def _awaited(answer: Awaitable[ChatResponse]) -> ChatResponse:
    return await answer


def astream_way(advisors: tuple[Any, ...], chat_model: AnyChatModel, finish: Finish) -> AsyncStreamNext:
    """Give the way of an async stream."""

    def ask(request: ChatClientRequest) -> AsyncIterator[ChatChunk]:
        if _request(request).answer is not None:
            return _given(request.answer)  # type: ignore[arg-type]
        return contracts.astream(chat_model, finish(request))

    way: AsyncStreamNext = ask
    for advisor in reversed(advisors):
        way = _astream_through(advisor, way)
    return way


async def _given(answer: ChatResponse) -> AsyncIterator[ChatChunk]:
    for chunk in answer.to_chunks():
        yield chunk


def _astream_through(advisor: Any, rest: AsyncStreamNext) -> AsyncStreamNext:
    if isinstance(advisor, SteppedAdvisor):
        return lambda request: advisor.aadvise_stream(_request(request), rest)
    aadvise_stream = getattr(advisor, "aadvise_stream", None)
    if aadvise_stream is None:
        aadvise = _athrough(advisor, lambda request: _joined(rest(request)))
        return lambda request: _in_chunks(aadvise(request))

    async def way(request: ChatClientRequest) -> AsyncIterator[ChatChunk]:
        async with AsyncExitStack() as opened:

            def kept(inner: ChatClientRequest) -> AsyncIterator[ChatChunk]:
                chunks = aclosable(rest(inner))
                opened.push_async_callback(chunks.aclose)
                return chunks  # type: ignore[no-any-return]

            chunks = aclosable(aadvise_stream(_request(request), kept))
            opened.push_async_callback(chunks.aclose)
            async for chunk in chunks:
                yield chunk

    return way


async def _joined(chunks: AsyncIterator[ChatChunk]) -> ChatResponse:
    accumulator = ChunkAccumulator()
    try:
        async with aclosing(aclosable(chunks)) as arriving:
            async for chunk in arriving:
                accumulator.add(chunk)
    except ModelError as error:
        if error.partial is None:
            error.partial = accumulator.partial()
        raise
    return accumulator.result()


async def _in_chunks(answer: Awaitable[ChatResponse]) -> AsyncIterator[ChatChunk]:
    for chunk in (await answer).to_chunks():
        yield chunk
