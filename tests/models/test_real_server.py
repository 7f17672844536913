"""Tools, results, schemas and turns on llama.cpp's own server: what a scripted one cannot vouch for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from promptkit.messages import AssistantMessage, SystemMessage, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.models.anthropic import AnthropicChatModel
from promptkit.models.openai import OpenAIChatModel, OpenAIResponsesChatModel
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.models.conftest import Server

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = ToolDefinition("get_weather", "Tell the weather of a city.", input_schema=CITY)
QUESTION = UserMessage("What is the weather in Paris?")
# A model this small begins no call by itself: its answer is begun for it, and the server goes on from there.
CALLING = Prompt(
    [QUESTION, AssistantMessage("<tool_call>\n")],
    ChatOptions(temperature=0, max_tokens=80, tools=[WEATHER], tool_choice="required"),
)


@pytest.fixture(params=["openai", "anthropic"])
def chat_model(request: pytest.FixtureRequest, llama_server: Server) -> Iterator[Any]:
    url, key = llama_server
    with (
        OpenAIChatModel(base_url=f"{url}/v1", api_key=key)
        if request.param == "openai"
        else AnthropicChatModel(base_url=url, api_key=key)
    ) as made:
        yield made


async def ajoined(chat_model: Any, prompt: Prompt) -> ChatResponse:
    return ChatResponse.from_chunks([chunk async for chunk in chat_model.astream(prompt)])


FORMS: dict[str, Any] = {
    "call": lambda chat_model, prompt: chat_model.call(prompt),
    "stream": lambda chat_model, prompt: ChatResponse.from_chunks(chat_model.stream(prompt)),
    "astream": lambda chat_model, prompt: asyncio.run(ajoined(chat_model, prompt)),
}


@pytest.mark.parametrize("form", ["call", "astream"])
def test_a_tool_is_called(chat_model: Any, form: str) -> None:
    response = FORMS[form](chat_model, CALLING)

    (result,) = response.results
    assert result.finish_reason in ("tool_calls", "tool_use")
    assert not result.output.invalid_tool_calls
    for call in result.output.tool_calls:
        assert call.id
        assert call.name == "get_weather"
        assert call.parsed_arguments == {"city": "Paris"}


def test_the_result_of_a_tool_goes_back(chat_model: Any) -> None:
    asked = AssistantMessage(tool_calls=[ToolCall("call_1", "get_weather", arguments={"city": "Paris"})])
    results = ToolResponseMessage(ToolResponse("call_1", "get_weather", content="Sunny"))
    plain = ChatOptions(temperature=0, max_tokens=8, tools=[WEATHER])

    short = chat_model.call(Prompt([QUESTION], plain)).usage.prompt_tokens
    response = chat_model.call(Prompt([QUESTION, asked, results], plain))

    assert response.text
    assert response.usage.prompt_tokens > short


def test_turns_are_remembered(chat_model: Any) -> None:
    options = ChatOptions(temperature=0, max_tokens=8)
    turns = [SystemMessage("You are a helpful assistant."), UserMessage("What is the capital of France?")]

    first = chat_model.call(Prompt(turns, options))
    second = chat_model.call(Prompt([*turns, first.results[0].output, UserMessage("Say it again.")], options))

    assert second.usage.prompt_tokens > first.usage.total_tokens


def test_turns_go_back_by_responses_too(llama_server: Server) -> None:
    options = ChatOptions(temperature=0, max_tokens=8)
    turns = [UserMessage("Hi"), AssistantMessage("Hello, how are you?"), UserMessage("Fine.")]

    with OpenAIResponsesChatModel(base_url=f"{llama_server.url}/v1", api_key=llama_server.key) as chat_model:
        first = chat_model.call(Prompt(turns, options))
        second = chat_model.call(Prompt([*turns, first.results[0].output, UserMessage("Again?")], options))

    assert second.usage.prompt_tokens > first.usage.total_tokens


def test_an_answer_keeps_to_a_schema(llama_server: Server) -> None:
    prompt = Prompt("Where are you?", ChatOptions(temperature=0, max_tokens=60, output_schema=CITY))

    with OpenAIChatModel(base_url=f"{llama_server.url}/v1", api_key=llama_server.key) as chat_model:
        for form in ("call", "stream"):
            answer = json.loads(FORMS[form](chat_model, prompt).text)
            assert answer.keys() == {"city"}
            assert isinstance(answer["city"], str)
