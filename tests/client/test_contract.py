"""Hold every advisor to one contract: the same answer, usage and prompts in all four forms, over any model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

import pytest

from promptkit.client import ChatClient, ChatClientRequest, ChatClientRequestSpec
from promptkit.client.advisors import (
    AsyncCallNext,
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
from promptkit.errors import ModelError, TransportError
from promptkit.memory.window import MessageWindowChatMemory
from promptkit.messages import AssistantMessage, UserMessage
from promptkit.response import ChatChunk, ChatResponse, Generation, Usage
from promptkit.testing import Answer, ScriptedChatModel
from promptkit.tools import tool
from tests.client.forms import ASYNC, FORMS, MODELS, AnyModel, ask, forms_of, said, seen, wish, without_ids


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
async def later(text: str) -> str:
    """Answer later."""
    return text.upper()


@tool(return_direct=True)
def final(text: str) -> str:
    """Answer directly."""
    return text


def louder(request: ChatClientRequest) -> ChatClientRequest:
    change = request.prompt.augment_user_message(lambda message: UserMessage(f"{message.content}!"))
    return request.mutate(prompt=change)


def signed(request: ChatClientRequest, response: ChatResponse) -> ChatResponse:
    return of(response, response.text + " (signed)")


def of(response: ChatResponse, text: str) -> ChatResponse:
    return response.mutate(results=[Generation(AssistantMessage(text), "stop")])


def through(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    return signed(request, next(louder(request)))


async def athrough(request: ChatClientRequest, next: AsyncCallNext) -> ChatResponse:
    return signed(request, await next(louder(request)))


def alone(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    return said("No need to ask.")


def twice(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    first = next(request)
    second = next(request.followed_by(first.results[0].output, UserMessage("Sure?")))
    return second.mutate(usage=first.usage + second.usage)


def knowing(request: ChatClientRequest, next: CallNext) -> ChatResponse:
    return next(request.mutate(answer=said("Known.")))


class Streaming:
    def advise_stream(self, request: ChatClientRequest, next: StreamNext) -> Iterator[ChatChunk]:
        yield from next(louder(request))
        yield ChatChunk(" (signed)")


class AsyncStreaming:
    async def aadvise_stream(self, request: ChatClientRequest, next: AsyncStreamNext) -> AsyncIterator[ChatChunk]:
        async for chunk in next(louder(request)):
            yield chunk
        yield ChatChunk(" (signed)")


class Fourfold(Streaming, AsyncStreaming):
    def advise(self, request: ChatClientRequest, next: CallNext) -> ChatResponse:
        return through(request, next)

    async def aadvise(self, request: ChatClientRequest, next: AsyncCallNext) -> ChatResponse:
        return await athrough(request, next)


class AsyncClass:
    async def aadvise(self, request: ChatClientRequest, next: AsyncCallNext) -> ChatResponse:
        return await athrough(request, next)


async def alouder(request: ChatClientRequest) -> ChatClientRequest:
    return louder(request)


async def asigned(request: ChatClientRequest, response: ChatResponse) -> ChatResponse:
    return signed(request, response)


class Passing:
    order = 450

    def advise(self, request: ChatClientRequest, next: CallNext) -> ChatResponse:
        return next(request)


class Case(NamedTuple):
    script: list[Answer]
    advisors: Callable[[], list[Any]]
    calls: int
    """How often the model is asked."""
    tools: tuple[Any, ...] = ()
    forms: tuple[str, ...] = FORMS
    target: Any = None
    text: str = "Yes. (signed)"


YES: list[Answer] = [said("Yes.")]
ROUNDS: list[Answer] = [
    said("Let me see.", wish("add", "1", a=1, b=2), wish("later", "2", text="x")),
    said(None, wish("add", "1", a=3, b=4)),
    said("It is 7."),
]


def memory(**options: Any) -> MemoryAdvisor:
    window = MessageWindowChatMemory()
    window.add("c", [UserMessage("Before?"), AssistantMessage("Before.")])
    return MemoryAdvisor(window, **options)


CASES = {
    "nothing": Case(YES, list, 1, text="Yes."),
    "before and after": Case(YES, lambda: [advisor(before=louder, after=signed)], 1),
    "before": Case(YES, lambda: [advisor(before=louder)], 1, text="Yes."),
    "after": Case(YES, lambda: [advisor(after=signed)], 1),
    "async before": Case(YES, lambda: [advisor(before=alouder)], 1, forms=ASYNC, text="Yes."),
    "async after": Case(YES, lambda: [advisor(after=asigned)], 1, forms=ASYNC),
    "function": Case(YES, lambda: [through], 1),
    "async function": Case(YES, lambda: [athrough], 1, forms=ASYNC),
    "all forms": Case(YES, lambda: [Fourfold()], 1),
    "async class": Case(YES, lambda: [AsyncClass()], 1, forms=ASYNC),
    "stream only": Case(YES, lambda: [Streaming()], 1),
    "async stream only": Case(YES, lambda: [AsyncStreaming()], 1, forms=ASYNC),
    "own answer": Case([], lambda: [alone], 0, text="No need to ask."),
    "next twice": Case([said("Yes."), said("No.")], lambda: [twice], 2, text="No."),
    "known answer": Case([], lambda: [knowing, LoggingAdvisor()], 0, text="Known."),
    "memory": Case(YES, lambda: [memory()], 1, text="Yes."),
    "memory of system text": Case(YES, lambda: [memory(store_system=True)], 1, text="Yes."),
    "tools": Case(ROUNDS, list, 3, (add, later), text="It is 7."),
    "tools, memory inside": Case(ROUNDS, lambda: [memory()], 3, (add, later), text="It is 7."),
    "tools, memory outside": Case(ROUNDS, lambda: [memory(order=50)], 3, (add, later), text="It is 7."),
    "tools, changed after": Case(
        ROUNDS, lambda: [advisor(after=signed, order=10)], 3, (add, later), text="It is 7. (signed)"
    ),
    "direct": Case(
        [said("Here:", wish("final", text="x"))], lambda: [ToolCallingAdvisor(), memory()], 1, (final,), text="x"
    ),
    "rounds without end": Case(
        [said("More", wish("add", a=1, b=1)), said("Enough.")],
        lambda: [ToolCallingAdvisor(max_rounds=1, then="answer")],
        2,
        (add,),
        text="Enough.",
    ),
    "validation": Case(
        [said("Forty-two."), said(""), said("42")], lambda: [OutputValidationAdvisor()], 3, target=int, text="42"
    ),
    "validation of a good answer": Case([said("42")], lambda: [OutputValidationAdvisor()], 1, target=int, text="42"),
    "validation without a target": Case(YES, lambda: [OutputValidationAdvisor()], 1, text="Yes."),
    "retry": Case([TransportError("reset"), said("Yes.")], lambda: [RetryAdvisor(wait=0)], 2, text="Yes."),
    "retry not needed": Case(YES, lambda: [RetryAdvisor()], 1, text="Yes."),
    "safeguard": Case([], lambda: [SafeguardAdvisor(["WORD"])], 0, text="I cannot help with that."),
    "safeguard passes": Case(YES, lambda: [SafeguardAdvisor(["sword"])], 1, text="Yes."),
    "logging": Case(YES, lambda: [LoggingAdvisor()], 1, text="Yes."),
    "all": Case(
        [TransportError("reset"), *ROUNDS[:2], said("seven"), said("7")],
        lambda: [
            SafeguardAdvisor(["sword"]),
            memory(),
            OutputValidationAdvisor(),
            RetryAdvisor(wait=0),
            LoggingAdvisor(),
            advisor(before=louder, order=10),
            Passing(),
        ],
        5,
        (add, later),
        target=int,
        text="7",
    ),
}


def request_of(case: Case, model: Any) -> ChatClientRequestSpec:
    client = ChatClient(model, system="Be brief.", tools=case.tools, advisors=case.advisors())
    return client.prompt("One word?").conversation("c")


def outcome(case: Case, model: AnyModel, form: str) -> tuple[ChatResponse, Any]:
    chat_model = model(case.script)
    response = ask(request_of(case, chat_model), form, case.target)
    assert len(chat_model.prompts) == case.calls
    return without_ids(response), seen(chat_model)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_all_forms_give_the_same(name: str, model: AnyModel) -> None:
    case = CASES[name]
    wanted = outcome(case, ScriptedChatModel, case.forms[0])

    assert wanted[0].text == case.text
    for form in case.forms:
        if form in forms_of(model):
            assert outcome(case, model, form) == wanted, form


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.forms == ASYNC])
@pytest.mark.parametrize("form", ["call", "stream"])
def test_a_sync_form_refuses_what_is_async_only(name: str, form: str) -> None:
    with pytest.raises(TypeError, match=r"acall\(\) or astream\(\)"):
        ask(request_of(CASES[name], ScriptedChatModel(YES)), form)


@pytest.mark.parametrize("model", MODELS[-2:], ids=lambda model: model.__name__)
@pytest.mark.parametrize("form", ["call", "stream"])
def test_a_sync_form_refuses_an_async_model(model: AnyModel, form: str) -> None:
    chat_model: Any = model(YES)

    with pytest.raises(TypeError, match="async only"):
        ask(ChatClient(chat_model).prompt("Hi"), form)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.calls])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_usage_is_that_of_all_calls_of_the_model(name: str, model: AnyModel) -> None:
    case = CASES[name]
    answered = sum(not isinstance(answer, Exception) for answer in case.script)

    for form in {*case.forms} & {*forms_of(model)}:
        assert outcome(case, model, form)[0].usage == Usage(10 * answered, 2 * answered), form


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.target is None])
def test_a_failing_model_fails_in_all_forms(name: str) -> None:
    case = CASES[name]
    failing = case._replace(script=[ModelError("no")] * len(case.script))

    for form in case.forms:
        model = ScriptedChatModel(failing.script)
        if not case.calls:
            ask(request_of(failing, model), form)
            continue
        with pytest.raises(ModelError, match="no"):
            ask(request_of(failing, model), form)
        assert len(model.prompts) == 1
