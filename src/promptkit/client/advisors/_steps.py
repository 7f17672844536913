"""Run an advisor that is written once, as a generator of steps, in all four forms of a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import aclosing, closing
from typing import Any

from promptkit.client.advisors.base import (
    AsyncCallNext,
    AsyncStreamNext,
    CallNext,
    StreamNext,
)
from promptkit.client.request import ChatClientRequest
from promptkit.errors import ModelError
from promptkit.response import ChatChunk, ChatResponse, ChunkAccumulator, Usage

__all__ = ["Ask", "Do", "SteppedAdvisor", "Steps", "Tell", "aclosable", "closable", "passing"]


class Ask:
    """Send a request on; the step's value is the answer.

    Args:
        request: The request.
        hold: Whether a stream keeps the answer back until the advisor is through with it.
    """

    __slots__ = ("hold", "partial", "request")

    def __init__(self, request: ChatClientRequest, *, hold: bool = False) -> None:
        self.request = request
        self.hold = hold
        self.partial: ChatResponse | None = None
        """What had arrived when the answer broke off, or when nobody wanted more of it."""


class Do:
    """Run a function, or in an async call its async twin; the step's value is what it gives."""

    __slots__ = ("arun", "run")

    def __init__(self, run: Callable[[], Any], arun: Callable[[], Awaitable[Any]]) -> None:
        self.run = run
        self.arun = arun


class Tell:
    """Add a chunk to the answer that has arrived, in a stream; else the advisor's result says the same."""

    __slots__ = ("chunk",)

    def __init__(self, chunk: ChatChunk) -> None:
        self.chunk = chunk


Steps = Generator[Ask | Do | Tell, Any, ChatResponse]
"""An advisor's work: it asks, does and tells, and returns the answer."""


def passing(request: ChatClientRequest) -> Steps:
    """Do nothing but pass a request on."""
    response: ChatResponse = yield Ask(request)
    return response


class _Run:
    """Hold where an advisor is: at a step, or at its result."""

    __slots__ = ("_steps", "result", "step")

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.step: Ask | Do | Tell | None = None
        self.result: Any = None
        self.go_on(steps.send, None)

    def go_on(self, resume: Callable[[Any], Ask | Do | Tell], value: Any) -> None:
        try:
            self.step = resume(value)
        except StopIteration as end:
            self.step = None
            self.result = end.value

    def send(self, value: Any) -> None:
        """Give the advisor what its step gave."""
        self.go_on(self._steps.send, value)

    def fail(self, error: BaseException, partial: ChatResponse | None) -> None:
        """Raise in the advisor what its step raised."""
        if type(self.step) is Ask:
            self.step.partial = partial
        self.go_on(self._steps.throw, error)


class _Passed:
    """Know what the reader of a stream has: the answer that the chunks passed on so far make."""

    __slots__ = ("_answer", "_arriving", "_earlier", "_shown")

    def __init__(self) -> None:
        self._arriving = ChunkAccumulator()
        self._shown: ChunkAccumulator | None = None
        self._earlier = Usage()
        self._answer: ChatResponse | None = None  # what is shown, where nothing changed it since it ended

    def begin(self, ask: Ask) -> Iterator[ChatChunk]:
        """Begin another answer."""
        self._arriving = ChunkAccumulator()
        if ask.hold:
            return
        if self._shown is not None:
            self._earlier = self._seen().usage
            yield ChatChunk(choice=None, starts_over=True)
        self._shown = self._arriving

    def add(self, chunk: ChatChunk) -> None:
        """Take a chunk of the answer that is arriving."""
        self._arriving.add(chunk)

    def tell(self, chunk: ChatChunk) -> ChatChunk:
        """Take a chunk that the advisor adds to the answer that has arrived."""
        self._arriving.add(chunk)
        self._answer = None
        return chunk

    def answer(self, ask: Ask) -> ChatResponse:
        """Give the answer that has arrived."""
        answer = self._arriving.result()
        if not ask.hold:
            self._answer = None if self._earlier else answer
        return answer

    def partial(self) -> ChatResponse:
        """Give what has arrived of it."""
        return self._arriving.partial()

    def _seen(self) -> ChatResponse:
        answer = ChatResponse(()) if self._shown is None else self._shown.result()
        return answer.mutate(usage=self._earlier + answer.usage)

    def rest(self, result: ChatResponse) -> Iterator[ChatChunk]:
        """Give what the reader needs besides to have the result."""
        if self._shown is None:
            yield from result.to_chunks()
        elif result is not self._answer and result != self._seen():
            yield ChatChunk(choice=None, starts_over=True, usage=result.usage)
            yield from result.mutate(usage=Usage()).to_chunks()


class SteppedAdvisor:
    """Give all four forms to an advisor that has ``_steps``.

    Args:
        order: Its place; the lowest is the outermost.
    """

    __slots__ = ("order",)

    def __init__(self, order: int) -> None:
        self.order = order

    def _steps(self, request: ChatClientRequest) -> Steps:
        raise NotImplementedError

    def advise(self, request: ChatClientRequest, next: CallNext, /) -> ChatResponse:
        """Answer a request."""
        run = _Run(self._steps(request))
        while (step := run.step) is not None:
            value: Any = None
            try:
                if type(step) is Ask:
                    value = next(step.request)
                elif type(step) is Do:
                    value = step.run()
            except BaseException as error:  # noqa: BLE001 - the advisor decides what becomes of it
                run.fail(error, error.partial if isinstance(error, ModelError) else None)
            else:
                run.send(value)
        return run.result  # type: ignore[no-any-return]

    async def aadvise(self, request: ChatClientRequest, next: AsyncCallNext, /) -> ChatResponse:
        """Do `advise` without blocking."""
        run = _Run(self._steps(request))
        while (step := run.step) is not None:
            value: Any = None
            try:
                if type(step) is Ask:
                    value = await next(step.request)
                elif type(step) is Do:
                    value = await step.arun()
            except BaseException as error:  # noqa: BLE001 - see above
                run.fail(error, error.partial if isinstance(error, ModelError) else None)
            else:
                run.send(value)
        return run.result  # type: ignore[no-any-return]

    def advise_stream(self, request: ChatClientRequest, next: StreamNext, /) -> Iterator[ChatChunk]:
        """Answer a request in chunks; closing it closes what it reads from."""
        run = _Run(self._steps(request))
        passed = _Passed()
        while (step := run.step) is not None:
            value: Any = None
            try:
                if type(step) is Tell:
                    yield passed.tell(step.chunk)
                elif type(step) is Do:
                    value = step.run()
                elif type(step) is Ask:
                    yield from passed.begin(step)
                    with closing(closable(next(step.request))) as chunks:
                        for chunk in chunks:
                            passed.add(chunk)
                            if not step.hold:
                                yield chunk
                    value = passed.answer(step)
            except BaseException as error:  # noqa: BLE001 - see above; also when nobody reads on
                run.fail(error, passed.partial())
            else:
                run.send(value)
        yield from passed.rest(run.result)

    async def aadvise_stream(self, request: ChatClientRequest, next: AsyncStreamNext, /) -> AsyncIterator[ChatChunk]:
        """Do `advise_stream` without blocking."""
        run = _Run(self._steps(request))
        passed = _Passed()
        while (step := run.step) is not None:
            value: Any = None
            try:
                if type(step) is Tell:
                    yield passed.tell(step.chunk)
                elif type(step) is Do:
                    value = await step.arun()
                elif type(step) is Ask:
                    for marker in passed.begin(step):
                        yield marker
                    async with aclosing(aclosable(next(step.request))) as chunks:
                        async for chunk in chunks:
                            passed.add(chunk)
                            if not step.hold:
                                yield chunk
                    value = passed.answer(step)
            except BaseException as error:  # noqa: BLE001 - see above
                run.fail(error, passed.partial())
            else:
                run.send(value)
        for chunk in passed.rest(run.result):
            yield chunk


def closable(chunks: Any) -> Any:
    """Give an iterator that can be closed."""
    return chunks if hasattr(chunks, "close") else (chunk for chunk in chunks)


def aclosable(chunks: Any) -> Any:
    """Give an async iterator that can be closed."""
    return chunks if hasattr(chunks, "aclose") else (chunk async for chunk in chunks)
