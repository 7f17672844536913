"""One contract for every chat model; a new one joins by a line in MODELS."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from promptkit.adapters.langchain import as_langchain_model, from_langchain_model
from promptkit.messages import SystemMessage, UserMessage
from promptkit.models._vendor import VendorChatModel
from promptkit.models.anthropic import AnthropicChatModel
from promptkit.models.gemini import GeminiChatModel
from promptkit.models.openai import OpenAIChatModel, OpenAIResponsesChatModel
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse
from promptkit.testing import EchoChatModel, ScriptedChatModel
from tests.models.conftest import Server
from tests.models.scripted_server import ScriptedServer, http, stream
from tests.models.wires import TEXT, WIRES

PROMPT = Prompt(
    [SystemMessage("You are a helpful assistant."), UserMessage("What is the capital of France?")],
    ChatOptions(temperature=0, max_tokens=8),
)


def openai_model(server: Server) -> OpenAIChatModel:
    return OpenAIChatModel(base_url=f"{server.url}/v1", api_key=server.key)


def responses_model(server: Server) -> OpenAIResponsesChatModel:
    return OpenAIResponsesChatModel(base_url=f"{server.url}/v1", api_key=server.key)


def anthropic_model(server: Server) -> AnthropicChatModel:
    return AnthropicChatModel(base_url=server.url, api_key=server.key)


def gemini_model(server: ScriptedServer) -> Any:
    """Give a model whose server streams where it is asked to."""
    wire = WIRES["gemini"]
    whole, streamed = [http(200, wire.answer(TEXT))], stream(wire.stream())
    server.answer_by(lambda request: streamed if "streamGenerateContent" in request.path else whole)
    return wire.model(server.url, max_retries=2)


def proxied_model(server: Server) -> GeminiChatModel:
    return GeminiChatModel("smollm2", base_url=server.url, api_key=server.key, api_version="v1beta")


@pytest.fixture(scope="module")
def gemini_server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


def langchain_model(server: Server) -> Any:
    return from_langchain_model(as_langchain_model(openai_model(server)))


MODELS: dict[str, Callable[[pytest.FixtureRequest], Any]] = {
    "scripted": lambda request: ScriptedChatModel(["The capital of France is Paris."] * 20),
    "echo": lambda request: EchoChatModel(),
    "local": lambda request: request.getfixturevalue("local"),
    "openai": lambda request: openai_model(request.getfixturevalue("llama_server")),
    "responses": lambda request: responses_model(request.getfixturevalue("llama_server")),
    "anthropic": lambda request: anthropic_model(request.getfixturevalue("llama_server")),
    "gemini": lambda request: gemini_model(request.getfixturevalue("gemini_server")),
    "langchain": lambda request: langchain_model(request.getfixturevalue("llama_server")),
}


PROXIED = pytest.param(
    lambda request: proxied_model(request.getfixturevalue("gemini_proxy")), id="gemini-proxy", marks=pytest.mark.litellm
)
"""Of its own lane: `make test-gemini`."""


@pytest.fixture(params=[*(pytest.param(make, id=name) for name, make in MODELS.items()), PROXIED])
def chat_model(request: pytest.FixtureRequest) -> Iterator[Any]:
    chat_model = request.param(request)
    yield chat_model
    if isinstance(chat_model, VendorChatModel):
        chat_model.close()


async def collected(chunks: AsyncIterator[ChatChunk]) -> list[ChatChunk]:
    return [chunk async for chunk in chunks]


def said(response: ChatResponse) -> list[Any]:
    """Give the answers without what each call has of its own."""
    return [(result.output.mutate(id=None, metadata={}), result.finish_reason) for result in response.results]


def test_call_gives_one_finished_answer(chat_model: Any) -> None:
    response = chat_model.call(PROMPT)

    assert isinstance(response, ChatResponse)
    assert len(response.results) == 1
    assert response.text
    assert response.results[0].finish_reason in ("stop", "end_turn", "completed", "STOP")
    assert response.usage.total_tokens == response.usage.prompt_tokens + response.usage.completion_tokens
    assert pickle.loads(pickle.dumps(response)) == response


def test_all_four_forms_give_the_same_answer(chat_model: Any) -> None:
    whole = chat_model.call(PROMPT)
    others = [
        ChatResponse.from_chunks(chat_model.stream(PROMPT)),
        asyncio.run(chat_model.acall(PROMPT)),
        ChatResponse.from_chunks(asyncio.run(collected(chat_model.astream(PROMPT)))),
    ]

    for other in others:
        assert said(other) == said(whole)
        assert other.model == whole.model
        assert other.usage.total_tokens == whole.usage.total_tokens


def test_a_stream_comes_in_pieces(chat_model: Any) -> None:
    pieces = [chunk.text for chunk in chat_model.stream(PROMPT) if chunk.text]

    assert len(pieces) > 1


def test_the_prompt_stays_as_it_is(chat_model: Any) -> None:
    before = pickle.dumps(PROMPT)

    chat_model.call(PROMPT)

    assert pickle.dumps(PROMPT) == before


def test_a_stream_can_be_left_and_the_model_used_again(chat_model: Any) -> None:
    chunks = chat_model.stream(PROMPT)
    next(chunks)
    chunks.close()

    async def leave() -> None:
        chunks = chat_model.astream(PROMPT)
        await anext(chunks)
        await chunks.aclose()

    asyncio.run(leave())
    assert chat_model.call(PROMPT).text


def test_threads_share_a_model(chat_model: Any) -> None:
    with ThreadPoolExecutor(3) as threads:
        texts = [response.text for response in threads.map(chat_model.call, [PROMPT] * 3)]

    assert texts == [texts[0]] * 3


def test_a_model_can_be_asked_while_it_answers(chat_model: Any) -> None:
    inner = [chat_model.call(PROMPT).text for chunk, _ in zip(chat_model.stream(PROMPT), range(1), strict=False)]

    assert inner[0]
