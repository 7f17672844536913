"""Gemini's model on a server that is not ours: litellm's proxy in front of llama.cpp. Run by `make test-gemini`."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Iterator

import pytest

from promptkit.errors import ModelHTTPError
from promptkit.messages import SystemMessage, UserMessage
from promptkit.models.gemini import GeminiChatModel
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.models.conftest import Server

pytestmark = pytest.mark.litellm

SHORT = ChatOptions(temperature=0, max_tokens=8)
QUESTION = UserMessage("What is the capital of France?")
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.fixture
def chat_model(gemini_proxy: Server) -> Iterator[GeminiChatModel]:
    url, key = gemini_proxy
    with GeminiChatModel("smollm2", base_url=url, api_key=key, api_version="v1beta", max_retries=0) as made:
        yield made


def test_system_text_reaches_the_model(chat_model: GeminiChatModel) -> None:
    alone = chat_model.call(Prompt([SystemMessage("Hi."), QUESTION], SHORT))
    told = chat_model.call(Prompt([SystemMessage("You are a helpful assistant, who knows cities."), QUESTION], SHORT))

    assert told.usage.prompt_tokens > alone.usage.prompt_tokens
    assert told.text


def test_turns_are_remembered(chat_model: GeminiChatModel) -> None:
    first = chat_model.call(Prompt([QUESTION], SHORT))
    second = chat_model.call(Prompt([QUESTION, first.results[0].output, UserMessage("Say it again.")], SHORT))

    assert second.usage.prompt_tokens > first.usage.total_tokens


def test_a_limit_is_kept_and_named(chat_model: GeminiChatModel) -> None:
    prompt = Prompt("Count to a hundred, please.", ChatOptions(temperature=0, max_tokens=3))

    for response in (chat_model.call(prompt), ChatResponse.from_chunks(chat_model.stream(prompt))):
        assert response.results[0].finish_reason == "MAX_TOKENS"
        assert response.usage.completion_tokens == 3


def test_an_answer_keeps_to_a_schema(chat_model: GeminiChatModel) -> None:
    prompt = Prompt("Where are you?", ChatOptions(temperature=0, max_tokens=60, output_schema=CITY))

    answer = json.loads(chat_model.call(prompt).text)

    assert answer.keys() == {"city"}


def test_tokens_are_counted(chat_model: GeminiChatModel) -> None:
    short, long = Prompt([QUESTION]), Prompt([UserMessage("What is the capital of France, and who lives there?")])

    assert 0 < chat_model.count_tokens(short) < chat_model.count_tokens(long)
    assert asyncio.run(chat_model.acount_tokens(short)) == chat_model.count_tokens(short)


def test_a_wrong_key_is_refused_and_not_shown(gemini_proxy: Server) -> None:
    wrong = "sk-wrong-0123456789abcdef"
    with (
        GeminiChatModel("smollm2", base_url=gemini_proxy.url, api_key=wrong, api_version="v1beta") as chat_model,
        pytest.raises(ModelHTTPError) as caught,  # without a database the proxy says 400, not 401
    ):
        chat_model.call(Prompt([QUESTION], SHORT))

    assert wrong not in "".join(traceback.format_exception(caught.value))


def test_an_unknown_model_is_refused(chat_model: GeminiChatModel) -> None:
    with pytest.raises(ModelHTTPError) as caught:
        chat_model.call(Prompt([QUESTION], SHORT.merge(ChatOptions(model="nobody"))))

    assert caught.value.status in (400, 404)
    assert not caught.value.retryable
