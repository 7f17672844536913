"""A model that has one form of a call gets the others, and nothing that was started stays behind."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from promptkit.contracts import AsyncChatModel, ChatModel, StreamingChatModel, acall, astream, call, stream
from promptkit.errors import ModelError, UnsupportedContentError
from promptkit.messages import AssistantMessage
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation

PROMPT = Prompt("hi")
ANSWER = ChatResponse(Generation(AssistantMessage("Hello"), "stop"), id="r1")
PIECES = (ChatChunk("Hel", id="r1"), ChatChunk("lo", finish_reason="stop"))


def _call(self: object, prompt: Prompt) -> ChatResponse:
    return ANSWER


def _stream(self: object, prompt: Prompt) -> Iterator[ChatChunk]:
    yield from PIECES


async def _acall(self: object, prompt: Prompt) -> ChatResponse:
    return ANSWER


async def _astream(self: object, prompt: Prompt) -> AsyncIterator[ChatChunk]:
    for chunk in PIECES:
        yield chunk


FORMS: dict[str, Callable[..., Any]] = {"call": _call, "stream": _stream, "acall": _acall, "astream": _astream}


def model_with(*names: str) -> Any:
    return type("Model", (), {name: FORMS[name] for name in names})()


async def collected(chunks: AsyncIterator[ChatChunk]) -> list[ChatChunk]:
    return [chunk async for chunk in chunks]


@pytest.mark.parametrize(
    "names", [("call",), ("stream",), ("call", "stream"), ("call", "acall"), ("stream", "astream")]
)
def test_a_sync_model_has_all_four_forms(names: tuple[str, ...]) -> None:
    model = model_with(*names)
    whole = 1 if "stream" not in names else 2

    assert call(model, PROMPT) == ANSWER
    assert ChatResponse.from_chunks(stream(model, PROMPT)) == ANSWER
    assert asyncio.run(acall(model, PROMPT)) == ANSWER
    chunks = asyncio.run(collected(astream(model, PROMPT)))
    assert ChatResponse.from_chunks(chunks) == ANSWER
    assert len(list(stream(model, PROMPT))) == whole
    assert len(chunks) == whole


@pytest.mark.parametrize("names", [("acall",), ("astream",), ("acall", "astream")])
def test_an_async_model_has_the_async_forms(names: tuple[str, ...]) -> None:
    model = model_with(*names)

    assert asyncio.run(acall(model, PROMPT)) == ANSWER
    assert ChatResponse.from_chunks(asyncio.run(collected(astream(model, PROMPT)))) == ANSWER


@pytest.mark.parametrize("names", [("acall",), ("astream",)])
@pytest.mark.parametrize(("form", "named"), [(call, "acall"), (stream, "astream")])
def test_a_sync_call_of_an_async_model_names_what_to_use(
    names: tuple[str, ...], form: Callable[[Any, Prompt], Any], named: str
) -> None:
    with pytest.raises(TypeError, match=rf"Model has no {form.__name__}: it is async only; use await .*\.{named}\("):
        form(model_with(*names), PROMPT)


def test_no_loop_is_started_inside_a_running_one() -> None:
    async def inside() -> None:
        with pytest.raises(TypeError, match="acall"):
            call(model_with("acall"), PROMPT)

    asyncio.run(inside())


@pytest.mark.parametrize("form", [call, stream])
def test_what_has_no_form_is_no_model(form: Callable[[Any, Prompt], Any]) -> None:
    with pytest.raises(TypeError, match="object is no chat model: it has none of call, stream, acall and astream"):
        form(object(), PROMPT)
    with pytest.raises(TypeError, match="object is no chat model"):
        asyncio.run(acall(object(), PROMPT))  # type: ignore[arg-type]


def test_methods_inherited_from_the_protocols_are_no_forms() -> None:
    class Declared(ChatModel, StreamingChatModel, AsyncChatModel):
        def call(self, prompt: Prompt) -> ChatResponse:
            return ANSWER

    model = Declared()  # type: ignore[abstract]  # checkers see the stubs, at run time they are inherited

    assert list(stream(model, PROMPT)) == list(ANSWER.to_chunks())
    assert asyncio.run(acall(model, PROMPT)) == ANSWER


def test_a_refused_prompt_is_not_reported_as_a_broken_stream() -> None:
    class Refusing:
        def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
            raise UnsupportedContentError("no images", feature="image")
            yield

    with pytest.raises(UnsupportedContentError, match="no images"):
        call(Refusing(), PROMPT)


def test_a_broken_async_stream_keeps_what_had_arrived() -> None:
    class Broken:
        async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
            yield ChatChunk("Hel")
            raise OSError("gone")

    with pytest.raises(ModelError) as caught:
        asyncio.run(acall(Broken(), PROMPT))  # type: ignore[arg-type]

    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hel"


class Recorded:
    """Stream endlessly, and tell what happens to the stream."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.waiting = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self.steps = 0

    def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
        try:
            while True:
                self.steps += 1
                self.waiting.set()
                assert self.go_on.wait(30)
                yield ChatChunk("x")
        finally:
            self.closed.set()


def test_closing_a_stream_closes_the_models_own() -> None:
    model = Recorded()
    chunks = stream(model, PROMPT)

    next(chunks)
    chunks.close()

    assert model.closed.is_set()
    assert model.steps == 1


def test_a_stream_that_nobody_reads_does_not_call_the_model() -> None:
    model = Recorded()

    stream(model, PROMPT).close()

    assert model.steps == 0


def test_leaving_an_async_stream_closes_the_models_own() -> None:
    model = Recorded()

    async def leave() -> bool:
        chunks = astream(model, PROMPT)
        await anext(chunks)
        await chunks.aclose()
        return model.closed.is_set()

    assert asyncio.run(leave())
    assert model.steps == 1


def test_leaving_an_own_async_stream_closes_it() -> None:
    closed = []

    class Own:
        async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
            try:
                while True:
                    yield ChatChunk("x")
            finally:
                closed.append(True)

    async def leave() -> None:
        chunks = astream(Own(), PROMPT)  # type: ignore[arg-type]
        await anext(chunks)
        await chunks.aclose()

    asyncio.run(leave())
    assert closed == [True]


def test_cancelling_returns_at_once_and_the_running_step_closes_the_stream() -> None:
    model = Recorded()
    reported: list[dict[str, Any]] = []

    async def cancel() -> bool:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        model.go_on.clear()
        task = asyncio.create_task(collected(astream(model, PROMPT)))
        await asyncio.to_thread(model.waiting.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        still_open = not model.closed.is_set()
        model.go_on.set()
        assert await asyncio.to_thread(model.closed.wait, 30)
        return still_open

    assert asyncio.run(cancel())
    assert model.steps == 1
    assert reported == []


def test_a_timeout_around_an_async_stream_fires() -> None:
    model = Recorded()

    async def wait() -> None:
        model.go_on.clear()
        try:
            async with asyncio.timeout(0.01):
                await collected(astream(model, PROMPT))
        finally:
            model.go_on.set()

    with pytest.raises(TimeoutError):
        asyncio.run(wait())
    assert model.closed.wait(30)


def test_every_step_sees_the_context_of_the_caller() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    class Asking:
        def call(self, prompt: Prompt) -> ChatResponse:
            return ChatResponse(Generation(AssistantMessage(who.get())))

        def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
            token = who.set(f"{who.get()}'s stream")
            yield ChatChunk(who.get())
            yield ChatChunk(f", still {who.get()}")
            who.reset(token)  # fails in another context than that of `set`

    async def ask() -> tuple[str, str, str]:
        who.set("Ada")
        streamed = ChatResponse.from_chunks([chunk async for chunk in astream(Asking(), PROMPT)])
        return (await acall(Asking(), PROMPT)).text, streamed.text, who.get()

    assert asyncio.run(ask()) == ("Ada", "Ada's stream, still Ada's stream", "Ada")


def test_an_error_in_a_step_reaches_the_caller_of_an_async_stream() -> None:
    class Broken:
        def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
            yield ChatChunk("Hel")
            raise ModelError("gone")

    texts: list[str] = []

    async def read() -> None:
        async for chunk in astream(Broken(), PROMPT):
            texts.append(chunk.text)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(ModelError, match="gone"):
        asyncio.run(read())
    assert texts == ["Hel"]
