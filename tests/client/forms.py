"""Ask a client in each of the four forms, over models that have all of them or few."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from promptkit.client import ChatClient, ChatClientRequestSpec
from promptkit.messages import AssistantMessage, BuiltinMessage, Message, ToolCall, as_builtin
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, Usage
from promptkit.testing import Answer, ScriptedChatModel
from promptkit.tools import tool

FORMS = ("call", "stream", "acall", "astream")
SYNC = ("call", "stream")
ASYNC = ("acall", "astream")


class Scripted:
    """Have a script to answer by."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self.script = ScriptedChatModel(answers)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return self.script.prompts


class SyncModel(Scripted):
    def call(self, prompt: Prompt) -> ChatResponse:
        return self.script.call(prompt)


class StreamModel(Scripted):
    def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
        return self.script.stream(prompt)


class AsyncModel(Scripted):
    async def acall(self, prompt: Prompt) -> ChatResponse:
        await asyncio.sleep(0)
        return self.script.call(prompt)


class AsyncStreamModel(Scripted):
    async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
        for chunk in self.script.stream(prompt):
            await asyncio.sleep(0)
            yield chunk


AnyModel = type[ScriptedChatModel | SyncModel | StreamModel | AsyncModel | AsyncStreamModel]
MODELS: tuple[AnyModel, ...] = (ScriptedChatModel, SyncModel, StreamModel, AsyncModel, AsyncStreamModel)
"""The first has all forms."""


def forms_of(model: AnyModel) -> tuple[str, ...]:
    return ASYNC if model in (AsyncModel, AsyncStreamModel) else FORMS


def ask(request: ChatClientRequestSpec, form: str, target: Any = None) -> ChatResponse:
    """Ask in a form; chunks are joined, and must make the same as the answer's own response."""
    return asyncio.run(aask(request, form, target)) if form in ASYNC else _ask(request, form, target)


def _ask(request: ChatClientRequestSpec, form: str, target: Any) -> ChatResponse:
    if form == "call":
        return request.call().response() if target is None else request.call().response_entity(target).response
    answer = request.stream()
    if target is not None:
        list(answer.partials(target))
        return answer.response()
    joined = ChatResponse.from_chunks(list(answer.chunks()))
    assert joined == answer.response()
    return joined


async def aask(request: ChatClientRequestSpec, form: str, target: Any = None) -> ChatResponse:
    if form == "acall":
        answer = request.acall()
        return await answer.response() if target is None else (await answer.response_entity(target)).response
    stream = request.astream()
    if target is not None:
        _ = [value async for value in stream.partials(target)]
        return await stream.response()
    joined = ChatResponse.from_chunks([chunk async for chunk in stream.chunks()])
    assert joined == await stream.response()
    return joined


def bare(message: Message) -> BuiltinMessage:
    """Take the id off a message, which is another one in each run."""
    return as_builtin(message).mutate(id=None)


def without_ids(response: ChatResponse) -> ChatResponse:
    return response.mutate(results=[each.mutate(output=bare(each.output)) for each in response.results])


def seen(model: Any) -> list[tuple[list[BuiltinMessage], Any]]:
    """Give what a model was asked, without ids."""
    return [(list(map(bare, prompt)), prompt.options) for prompt in model.prompts]


def said(text: str | None, *calls: ToolCall, reason: str = "stop", usage: Usage = Usage(10, 2)) -> ChatResponse:  # noqa: B008
    output = AssistantMessage(text, tool_calls=calls)
    return ChatResponse(Generation(output, "tool_calls" if calls else reason), id="r", model="m", usage=usage)


def wish(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments=arguments)


class OddError(Exception):
    """Be an error that nobody knows."""


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


class OpenStream:
    """Stream for ever, and know whether it was closed."""

    def __init__(self) -> None:
        self.closed = 0
        self.given = 0

    def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
        try:
            while True:
                self.given += 1
                yield ChatChunk(f"{self.given} ")
        finally:
            self.closed += 1


def request_of(model: Any, *advisors: Any, **options: Any) -> ChatClientRequestSpec:
    return ChatClient(model, advisors=advisors, **options).prompt("?").conversation("c")
