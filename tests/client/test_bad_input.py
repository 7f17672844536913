"""Hold what comes of advisors, models and readers that behave badly: typed errors, and everything ended."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from promptkit.client import ChatClient, ChatClientRequest, ChatClientRequestSpec
from promptkit.client.advisors import (
    AsyncStreamNext,
    CallNext,
    LoggingAdvisor,
    MemoryAdvisor,
    OutputValidationAdvisor,
    RetryAdvisor,
    SafeguardAdvisor,
    StreamNext,
    ToolCallingAdvisor,
    advisor,
)
from promptkit.errors import ModelError, PromptError
from promptkit.memory.window import MessageWindowChatMemory
from promptkit.messages import UserMessage
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Usage
from promptkit.testing import EchoChatModel, ScriptedChatModel
from tests.client.forms import (
    ASYNC,
    FORMS,
    OddError,
    OpenStream,
    SyncModel,
    aask,
    add,
    ask,
    bare,
    request_of,
    said,
    wish,
)

EACH_FORM = pytest.mark.parametrize("form", FORMS)


class AsyncOpenStream(OpenStream):
    stream = None  # type: ignore[assignment]

    async def acall(self, prompt: Prompt) -> ChatResponse:
        raise AssertionError

    async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
        try:
            while True:
                self.given += 1
                yield ChatChunk(f"{self.given} ")
        finally:
            self.closed += 1


def passing(request: ChatClientRequest, response: ChatResponse) -> ChatResponse:
    return response


class PassingStream:
    def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Iterator[ChatChunk]:
        yield from next(request)

    async def aadvise_stream(self, request: ChatClientRequest, next: AsyncStreamNext) -> AsyncIterator[ChatChunk]:
        async for chunk in next(request):
            yield chunk


class CarelessStream:
    """Take one chunk and forget the rest."""

    def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Iterator[ChatChunk]:
        for chunk in next(request):
            yield chunk
            break

    async def aadvise_stream(self, request: ChatClientRequest, next: AsyncStreamNext) -> AsyncIterator[ChatChunk]:
        async for chunk in next(request):
            yield chunk
            break


def everything() -> list[Any]:
    return [
        SafeguardAdvisor(["sword"]),
        ToolCallingAdvisor(),
        MemoryAdvisor(MessageWindowChatMemory()),
        LoggingAdvisor(),
        RetryAdvisor(),
        advisor(after=passing),
        PassingStream(),
    ]


# Readers that leave.


@pytest.mark.parametrize("read", ["chunks", "content"])
def test_a_reader_that_leaves_ends_the_model(read: str) -> None:
    model = OpenStream()
    answer = request_of(model, *everything(), tools=[add]).stream()

    for _ in getattr(answer, read)():
        break

    assert (model.closed, model.given) == (1, 1)
    assert answer.response().text == "1 "


def test_a_reader_of_partials_that_leaves_ends_the_model() -> None:
    class Numbers(OpenStream):
        def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
            yield ChatChunk("[")
            yield from super().stream(prompt)

    model = Numbers()
    for _ in request_of(model, *everything()).stream().partials(list[int]):
        break

    assert model.closed == model.given  # nothing was asked of it, or what was is closed


@pytest.mark.parametrize("read", ["chunks", "content"])
@pytest.mark.parametrize("model", [AsyncOpenStream, OpenStream])
def test_an_async_reader_that_leaves_ends_the_model(read: str, model: type[OpenStream]) -> None:
    chat_model = model()

    async def main() -> str:
        answer = request_of(chat_model, *everything(), tools=[add]).astream()
        async with aclosing(getattr(answer, read)()) as pieces:
            async for _ in pieces:
                break
        assert chat_model.closed == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return (await answer.response()).text

    assert asyncio.run(main()) == "1 "


def test_an_advisor_that_forgets_the_rest_ends_the_model() -> None:
    model = OpenStream()

    answer = request_of(model, CarelessStream()).stream().response()

    assert (model.closed, answer.text) == (1, "1 ")


def test_an_async_advisor_that_forgets_the_rest_ends_the_model() -> None:
    model = AsyncOpenStream()

    answer = asyncio.run(_aresponse(request_of(model, CarelessStream())))

    assert (model.closed, answer.text) == (1, "1 ")


async def _aresponse(request: ChatClientRequestSpec) -> ChatResponse:
    return await request.astream().response()


class Fails:
    def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Iterator[ChatChunk]:
        chunks = next(request)
        yield from (chunk for _, chunk in zip(range(2), chunks, strict=False))
        raise OddError("mid-stream")

    async def aadvise_stream(self, request: ChatClientRequest, next: AsyncStreamNext) -> AsyncIterator[ChatChunk]:
        count = 0
        async for chunk in next(request):
            yield chunk
            count += 1
            if count == 2:
                raise OddError("mid-stream")


@pytest.mark.parametrize("form", ["stream", "astream"])
@pytest.mark.parametrize("model", [OpenStream, AsyncOpenStream])
def test_an_advisor_that_raises_in_mid_stream_ends_the_model(form: str, model: type[OpenStream]) -> None:
    memory = MessageWindowChatMemory()
    chat_model = model()
    if form == "stream" and model is AsyncOpenStream:
        chat_model = OpenStream()

    with pytest.raises(OddError, match="mid-stream"):
        _read(request_of(chat_model, MemoryAdvisor(memory, order=-1), Fails()), form)

    assert chat_model.closed == 1
    kept = memory.get("c")
    assert [bare(message).text for message in kept] == ["?", "1 2 "]
    assert kept[1].metadata == {"partial": True}


def _read(request: ChatClientRequestSpec, form: str) -> None:
    if form == "stream":
        list(request.stream().chunks())
    else:
        asyncio.run(_aresponse(request))


def test_a_cancelled_task_ends_the_model() -> None:
    model = AsyncOpenStream()

    async def main() -> None:
        reading = asyncio.Event()

        async def read() -> None:
            async for _ in request_of(model, *everything()).astream().content():
                reading.set()
                await asyncio.sleep(0)

        task = asyncio.create_task(read())
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        gc.collect()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert model.closed == 1

    asyncio.run(main())


# Advisors that raise, forget, repeat, give garbage.


def before(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    raise OddError("before")


def after(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    next(request)
    raise OddError("after")


def forgetful(request: ChatClientRequest, next: CallNext) -> Any:
    next(request)


def wordy(request: ChatClientRequest, next: CallNext) -> Any:
    return next(request).text


def passing_text(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    return next("text")  # type: ignore[arg-type]


def wrong_prompt(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    return next(request.mutate(prompt="text"))


def wrong_context(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    return next(request.mutate(context=3))


class GivesText:
    def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Any:
        yield "text"

    async def aadvise_stream(self, request: ChatClientRequest, next: AsyncStreamNext) -> Any:
        yield "text"


class GivesNothing:
    def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Any:
        return None

    def aadvise_stream(self, request: ChatClientRequest, next: AsyncStreamNext) -> Any:
        return None


class GivesList:
    def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Any:
        return [ChatChunk("a"), ChatChunk("b")]


@EACH_FORM
@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (before, OddError, "before"),
        (after, OddError, "after"),
        (forgetful, PromptError, r"forgetful.* gave None.*return next\(request\)"),
        (wordy, PromptError, "wordy.* gave 'x', not a ChatResponse"),
        (passing_text, PromptError, r"next\(\) takes a ChatClientRequest, not 'text'"),
        (wrong_prompt, PromptError, "must be a Prompt, not 'text'"),
        (wrong_context, PromptError, "context must be a mapping, not 3"),
        (advisor(before=lambda request: None), PromptError, "before gave None"),  # type: ignore[arg-type]
        (advisor(after=lambda request, response: "text"), PromptError, "after gave 'text'"),  # type: ignore[arg-type]
        (GivesText(), PromptError, "GivesText.* gave 'text' in a stream"),
        (GivesNothing(), PromptError, "GivesNothing.* gave None, not an"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_bad_advisors_are_named(form: str, bad: Any, error: type[Exception], words: str) -> None:
    memory = MessageWindowChatMemory()
    request = request_of(ScriptedChatModel(["x"]), bad, MemoryAdvisor(memory, order=-1))

    with pytest.raises(error, match=words):
        ask(request, form)

    assert [bare(message).text for message in memory.get("c")][:1] == ["?"]
    assert len(memory.get("c")) <= 2


@EACH_FORM
def test_an_advisor_may_give_a_list_of_chunks(form: str) -> None:
    assert ask(request_of(ScriptedChatModel([]), GivesList()), form).text == "ab"


@EACH_FORM
@pytest.mark.parametrize("wrong", ["text", 3, None])
def test_a_model_that_gives_garbage_is_named(form: str, wrong: Any) -> None:
    class Garbage:
        def call(self, prompt: Prompt) -> Any:
            return wrong

        def stream(self, prompt: Prompt) -> Any:
            yield wrong

    with pytest.raises(PromptError, match=f"Garbage.* gave {wrong!r}"):
        ask(request_of(Garbage()), form)


@EACH_FORM
def test_a_model_that_is_none(form: str) -> None:
    with pytest.raises(TypeError, match="object is no chat model"):
        ask(ChatClient(object()).prompt("?"), form)  # type: ignore[arg-type]


@EACH_FORM
@pytest.mark.parametrize("times", [0, 2, 3])
def test_next_may_be_called_as_often_as_one_likes(form: str, times: int) -> None:
    def often(request: ChatClientRequest, next: CallNext) -> ChatResponse:
        answers = [next(request) for _ in range(times)]
        return answers[-1] if answers else said("none")

    model = ScriptedChatModel([said(str(n)) for n in range(times)])
    memory = MessageWindowChatMemory()

    response = ask(request_of(model, often, MemoryAdvisor(memory)), form)

    assert len(model.prompts) == times
    assert response.text == (str(times - 1) if times else "none")
    users = [message for message in memory.get("c") if isinstance(message, UserMessage)]
    assert len(users) == bool(times)
    assert len(memory.get("c")) == times + bool(times)


@EACH_FORM
def test_next_called_twice_in_a_stream_of_ones_own(form: str) -> None:
    class Twice:
        def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Iterator[ChatChunk]:
            yield from next(request)
            yield ChatChunk(choice=None, starts_over=True)
            yield from next(request)

        async def aadvise_stream(self, request: ChatClientRequest, next: AsyncStreamNext) -> AsyncIterator[ChatChunk]:
            async for chunk in next(request):
                yield chunk
            yield ChatChunk(choice=None, starts_over=True)
            async for chunk in next(request):
                yield chunk

    response = ask(request_of(ScriptedChatModel([said("a"), said("b")]), Twice()), form)

    assert (response.text, response.usage) == ("b", Usage(20, 4))


@EACH_FORM
def test_an_advisor_may_answer_where_a_model_fails(form: str) -> None:
    def fallback(request: ChatClientRequest, next: CallNext) -> ChatResponse:
        try:
            return next(request)
        except ModelError:
            return said("Later.")

    assert ask(request_of(ScriptedChatModel([ModelError("down")]), fallback), form).text == "Later."


# What stands as an advisor.


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (LoggingAdvisor, r"write LoggingAdvisor\(…\)"),
        (3, "3 is no advisor"),
        ("logging", "'logging' is no advisor"),
        (None, "None is no advisor"),
        (LoggingAdvisor(order="first"), "order of an advisor must be a number, not 'first'"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_advisor_is_refused(wrong: Any, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        ChatClient(EchoChatModel(), advisors=[wrong])
    with pytest.raises(PromptError, match=words):
        ChatClient(EchoChatModel()).prompt("?").advisors(wrong)


def test_a_list_of_advisors_is_wanted() -> None:
    with pytest.raises(PromptError, match="list of advisors"):
        ChatClient(EchoChatModel(), advisors=LoggingAdvisor())  # type: ignore[arg-type]
    with pytest.raises(PromptError, match="before the call"):
        advisor()
    with pytest.raises(PromptError, match="before the call"):
        advisor(before="text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: RetryAdvisor(0),
        lambda: RetryAdvisor(wait=-1),
        lambda: RetryAdvisor(wait=float("nan")),
        lambda: RetryAdvisor(max_wait=True),
        lambda: OutputValidationAdvisor(0),
        lambda: SafeguardAdvisor("word"),
        lambda: SafeguardAdvisor(["word", " "]),
        lambda: SafeguardAdvisor([3]),  # type: ignore[list-item]
        lambda: LoggingAdvisor(redact="text"),  # type: ignore[arg-type]
    ],
)
def test_wrong_settings_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(PromptError):
        make()


def test_advisors_name_themselves() -> None:
    assert repr(OutputValidationAdvisor(2)) == "OutputValidationAdvisor(2, order=400)"
    assert repr(RetryAdvisor()) == "RetryAdvisor(3, order=500)"
    assert repr(advisor(after=passing)) == f"advisor(after={passing!r}, order=0)"


# Event loops and threads.


@pytest.mark.parametrize("form", ["call", "stream"])
def test_sync_forms_work_inside_a_running_loop(form: str) -> None:
    async def main() -> str:
        request = request_of(SyncModel([said(None, wish("add", a=1, b=1)), said("2")]), *everything(), tools=[add])
        return ask(request, form).text

    assert asyncio.run(main()) == "2"


@pytest.mark.parametrize("form", ASYNC)
def test_many_sync_advisors_at_once_do_not_wait_for_one_another(form: str) -> None:
    """A shared pool of threads would be full of advisors that wait for the model's place in it."""
    waiting = threading.Barrier(40, timeout=60)

    def meet(request: ChatClientRequest, next: CallNext) -> ChatResponse:
        waiting.wait()
        return next(request)

    class Echo:
        def call(self, prompt: Prompt) -> ChatResponse:
            return said(prompt.text)

    async def main() -> list[str]:
        client = ChatClient(Echo(), advisors=[meet])
        requests = [client.prompt(str(n)) for n in range(40)]
        answers: list[Awaitable[ChatResponse]] = [
            request.acall().response() if form == "acall" else request.astream().response() for request in requests
        ]
        return [response.text for response in await asyncio.gather(*answers)]

    assert asyncio.run(main()) == [str(n) for n in range(40)]


@pytest.mark.parametrize("where", ["before", "inside"])
def test_a_cancelled_call_ends_the_thread_of_its_advisor(where: str) -> None:
    running = threading.Event()
    go_on = threading.Event()
    threads: list[threading.Thread] = []
    errors: list[BaseException] = []

    def slow(request: ChatClientRequest, next: CallNext) -> ChatResponse:
        threads.append(threading.current_thread())
        if where == "before":
            running.set()
            go_on.wait(20)
        try:
            return next(request)
        except BaseException as error:
            errors.append(error)
            raise

    class Hangs:
        asked = 0

        async def acall(self, prompt: Prompt) -> ChatResponse:
            Hangs.asked += 1
            running.set()
            await asyncio.sleep(60)
            raise AssertionError

        async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
            yield ChatChunk((await self.acall(prompt)).text)

    async def main() -> None:
        task = asyncio.create_task(request_of(Hangs(), slow).acall().content())
        assert await asyncio.to_thread(running.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    go_on.set()
    threads[0].join(20)

    assert not threads[0].is_alive()
    assert Hangs.asked == (where == "inside")
    assert [type(error).__name__ for error in errors] == ["CancelledError"]


@pytest.mark.parametrize("form", ASYNC)
def test_a_cancelled_call_ends_what_its_sync_advisor_passed_on(form: str) -> None:
    memory = MessageWindowChatMemory()

    async def main() -> None:
        reading = asyncio.Event()

        class Hangs:
            async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
                yield ChatChunk("Once ")
                reading.set()
                await asyncio.sleep(60)

        def plain(request: ChatClientRequest, next: CallNext) -> ChatResponse:
            return next(request)

        task = asyncio.create_task(aask(request_of(Hangs(), plain, MemoryAdvisor(memory)), form))
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())

    assert bare(memory.get("c")[0]).text == "?"
    assert [message.metadata for message in memory.get("c")[1:]] == [{"partial": True}] * (form == "astream")


@EACH_FORM
def test_no_thread_is_left(form: str) -> None:
    before = set(threading.enumerate())

    def plain(request: ChatClientRequest, next: CallNext) -> ChatResponse:
        return next(request)

    request = request_of(SyncModel([said(None, wish("add", a=1, b=1)), said("2")]), plain, *everything(), tools=[add])
    assert ask(request, form).text == "2"

    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive()
