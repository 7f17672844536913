"""Join advisors and a model into one way for each form of a call."""

from __future__ import annotations

import functools
import itertools
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, closing
from typing import Any

from promptkit import contracts
from promptkit._frozen import shown
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

    __slots__ = ("_function", "aadvise", "advise")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        setattr(self, "aadvise" if is_async(function) else "advise", function)

    def __repr__(self) -> str:
        return repr(self._function)


def as_advisor(given: AdvisorLike) -> Any:
    """Take an advisor as it is, and a function as the one form of an advisor."""
    if isinstance(given, type):
        raise PromptError(f"an advisor is an object: write {given.__name__}(…), not the class")
    if not any(hasattr(given, name) for name in _FORMS):
        if not callable(given):
            raise PromptError(f"{shown(given)} is no advisor: it has no advise(request, next), and is no function")
        return _FunctionAsAdvisor(given)
    order = getattr(given, "order", 0)
    if not isinstance(order, int | float):
        raise PromptError(f"the order of an advisor must be a number, not {shown(order)}")
    return given


def in_order(advisors: Iterable[Any]) -> tuple[Any, ...]:
    """Sort advisors, the outermost first; equals stay in the order in which they were given."""
    return tuple(sorted(advisors, key=lambda advisor: getattr(advisor, "order", 0)))


def _checked(answer: Any, who: object) -> ChatResponse:
    if not isinstance(answer, ChatResponse):
        hint = "; does it lack a `return next(request)`?" if answer is None else ""
        raise PromptError(f"{who!r:.200} gave {shown(answer)}, not a ChatResponse{hint}")
    return answer


def _checked_chunk(chunk: Any, who: object) -> ChatChunk:
    if not isinstance(chunk, ChatChunk):
        raise PromptError(f"{who!r:.200} gave {shown(chunk)} in a stream, not a ChatChunk")
    return chunk


def _checked_chunks(chunks: Any, who: object) -> Iterator[ChatChunk]:
    if not isinstance(chunks, Iterable):
        raise PromptError(f"{who!r:.200} gave {shown(chunks)}, not an iterator of ChatChunks")
    with closing(closable(chunks)) as arriving:
        for chunk in arriving:
            yield _checked_chunk(chunk, who)


async def _checked_achunks(chunks: Any, who: object) -> AsyncIterator[ChatChunk]:
    if not isinstance(chunks, AsyncIterable):
        raise PromptError(f"{who!r:.200} gave {shown(chunks)}, not an async iterator of ChatChunks")
    async with aclosing(aclosable(chunks)) as arriving:
        async for chunk in arriving:
            yield _checked_chunk(chunk, who)


def _request(given: Any) -> ChatClientRequest:
    if not isinstance(given, ChatClientRequest):
        raise PromptError(f"next() takes a ChatClientRequest, not {shown(given)}")
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
    advise = _advise(advisor)
    return lambda request: _checked(advise(_request(request), rest), advisor)


def _advise(advisor: Any) -> Callable[[ChatClientRequest, CallNext], ChatResponse]:
    """Give an advisor's form for a call: its own, else its stream, joined."""
    advise = getattr(advisor, "advise", None)
    if advise is not None:
        return advise  # type: ignore[no-any-return]
    if not hasattr(advisor, "advise_stream"):
        raise async_only(advisor)
    return lambda request, rest: _joined(_stream_through(advisor, lambda inner: rest(inner).to_chunks())(request))


def _joined(chunks: Iterator[ChatChunk]) -> ChatResponse:
    accumulator = ChunkAccumulator()
    try:
        with closing(closable(chunks)) as arriving:
            accumulator.extend(arriving)
    except ModelError as error:
        if error.partial is None:
            error.partial = accumulator.partial()
        raise
    return accumulator.result()


def stream_way(advisors: tuple[Any, ...], chat_model: AnyChatModel, finish: Finish) -> StreamNext:
    """Give the way of a stream."""

    def ask(request: ChatClientRequest) -> Iterator[ChatChunk]:
        if _request(request).answer is not None:
            return request.answer.to_chunks()  # type: ignore[union-attr]
        return _checked_chunks(contracts.stream(chat_model, finish(request)), chat_model)

    way: StreamNext = ask
    for advisor in reversed(advisors):
        way = _stream_through(advisor, way)
    return way


def _stream_through(advisor: Any, rest: StreamNext) -> StreamNext:
    if isinstance(advisor, SteppedAdvisor):
        return lambda request: advisor.advise_stream(_request(request), rest)
    advise_stream = getattr(advisor, "advise_stream", None)
    if advise_stream is None:
        advise = _through(advisor, lambda request: _joined(rest(request)))
        return lambda request: advise(request).to_chunks()

    def way(request: ChatClientRequest) -> Iterator[ChatChunk]:
        with ExitStack() as opened:

            def kept(inner: ChatClientRequest) -> Iterator[ChatChunk]:
                return opened.enter_context(closing(closable(rest(inner))))

            yield from _checked_chunks(advise_stream(_request(request), kept), advisor)

    return way


def acall_way(advisors: tuple[Any, ...], chat_model: AnyChatModel, finish: Finish) -> AsyncCallNext:
    """Give the way of an async call."""

    async def ask(request: ChatClientRequest) -> ChatResponse:
        if _request(request).answer is not None:
            return request.answer  # type: ignore[return-value]
        return _checked(await contracts.acall(chat_model, finish(request)), chat_model)

    way: AsyncCallNext = ask
    for blocking, group in itertools.groupby(reversed(advisors), _blocks):
        if blocking:
            way = _in_thread(tuple(group), way)
        else:
            way = functools.reduce(lambda rest, advisor: _athrough(advisor, rest), group, way)
    return way


def _blocks(advisor: Any) -> bool:
    sync = hasattr(advisor, "advise") or hasattr(advisor, "advise_stream")
    return sync and not hasattr(advisor, "aadvise")


def _athrough(advisor: Any, rest: AsyncCallNext) -> AsyncCallNext:
    if _blocks(advisor):
        return _in_thread((advisor,), rest)
    if not hasattr(advisor, "aadvise"):
        streaming = _astream_through(advisor, lambda request: _in_chunks(rest(request)))
        return lambda request: _ajoined(streaming(request))

    async def way(request: ChatClientRequest) -> ChatResponse:
        return _checked(await advisor.aadvise(_request(request), rest), advisor)

    return way


def _in_thread(advisors: tuple[Any, ...], rest: AsyncCallNext) -> AsyncCallNext:
    """Give the way through sync advisors, the last one first, that stand together: one thread runs them."""

    def run(request: ChatClientRequest, pass_on: CallNext) -> ChatResponse:
        way = functools.reduce(lambda inner, advisor: _through(advisor, inner), advisors, pass_on)
        return way(request)

    return functools.partial(_run_in_thread, run, rest)


async def _run_in_thread(run: Any, rest: AsyncCallNext, request: ChatClientRequest) -> ChatResponse:
    """Run sync advisors in a thread; what they pass on runs in the loop of the caller.

    The thread is their own: in a shared pool advisors that wait could take the places of what they wait for.
    """
    import asyncio
    import contextvars
    from concurrent.futures import ThreadPoolExecutor

    loop = asyncio.get_running_loop()
    tasks: list[Any] = []
    left = False

    async def passed(inner: ChatClientRequest) -> ChatResponse:
        if left:
            raise asyncio.CancelledError
        tasks.append(asyncio.current_task())
        return await rest(inner)

    def pass_on(inner: ChatClientRequest) -> ChatResponse:
        if left:  # the loop may be closed
            raise asyncio.CancelledError
        return asyncio.run_coroutine_threadsafe(passed(inner), loop).result()

    thread = ThreadPoolExecutor(1)
    try:
        return await loop.run_in_executor(thread, contextvars.copy_context().run, run, request, pass_on)
    finally:
        left = True
        for task in tasks:
            task.cancel()
        thread.shutdown(wait=False)
        await asyncio.gather(*tasks, return_exceptions=True)


def astream_way(advisors: tuple[Any, ...], chat_model: AnyChatModel, finish: Finish) -> AsyncStreamNext:
    """Give the way of an async stream."""

    def ask(request: ChatClientRequest) -> AsyncIterator[ChatChunk]:
        if _request(request).answer is not None:
            return _given(request.answer)  # type: ignore[arg-type]
        return _checked_achunks(contracts.astream(chat_model, finish(request)), chat_model)

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
        aadvise = _athrough(advisor, lambda request: _ajoined(rest(request)))
        return lambda request: _in_chunks(aadvise(request))

    async def way(request: ChatClientRequest) -> AsyncIterator[ChatChunk]:
        async with AsyncExitStack() as opened:

            def kept(inner: ChatClientRequest) -> AsyncIterator[ChatChunk]:
                chunks = aclosable(rest(inner))
                opened.push_async_callback(chunks.aclose)
                return chunks  # type: ignore[no-any-return]

            chunks = _checked_achunks(aadvise_stream(_request(request), kept), advisor)
            async with aclosing(chunks):  # type: ignore[type-var]
                async for chunk in chunks:
                    yield chunk

    return way


async def _ajoined(chunks: AsyncIterator[ChatChunk]) -> ChatResponse:
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
