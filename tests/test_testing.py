from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit import contracts
from promptkit.errors import ModelError, PromptError
from promptkit.messages import AssistantMessage, SystemMessage, ToolCall, UserMessage
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, Usage
from promptkit.testing import Answer, EchoChatModel, ScriptedChatModel

HELLO = Prompt("Hello")
WHOLE = ChatResponse(Generation(AssistantMessage("a b"), "stop"), id="r1", usage=Usage(1, 2))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("a b", ChatResponse(Generation(AssistantMessage("a b"), "stop"))),
        (AssistantMessage("x"), ChatResponse(Generation(AssistantMessage("x"), "stop"))),
        (
            AssistantMessage(tool_calls=[ToolCall("c", "f")]),
            ChatResponse(Generation(AssistantMessage(tool_calls=[ToolCall("c", "f")]), "tool_calls")),
        ),
        (WHOLE, WHOLE),
        (["a ", ChatChunk("b", finish_reason="stop")], ChatResponse(Generation(AssistantMessage("a b"), "stop"))),
        (lambda prompt: prompt.text, ChatResponse(Generation(AssistantMessage("Hello"), "stop"))),
    ],
    ids=["text", "message", "calls", "response", "chunks", "function"],
)
def test_every_form_gives_the_answer_of_the_script(answer: Answer, expected: ChatResponse) -> None:
    chat_model = ScriptedChatModel([answer] * 4)

    async def gather() -> list[ChatChunk]:
        return [chunk async for chunk in chat_model.astream(HELLO)]

    assert chat_model.call(HELLO) == expected
    assert ChatResponse.from_chunks(chat_model.stream(HELLO)) == expected
    assert asyncio.run(chat_model.acall(HELLO)) == expected
    assert ChatResponse.from_chunks(asyncio.run(gather())) == expected
    assert chat_model.prompts == (HELLO,) * 4
    assert chat_model.left == 0


def test_errors_of_the_script_are_raised() -> None:
    chat_model = ScriptedChatModel([ModelError("busy"), RuntimeError("no"), ["par", ModelError("broke")]])

    with pytest.raises(ModelError, match="busy"):
        chat_model.call(HELLO)
    with pytest.raises(RuntimeError, match="no"):
        list(chat_model.stream(HELLO))
    with pytest.raises(ModelError, match="broke") as caught:
        chat_model.call(HELLO)
    assert caught.value.partial is not None
    assert caught.value.partial.text == "par"


def test_a_script_ends() -> None:
    chat_model = ScriptedChatModel([])

    with pytest.raises(ModelError, match="asks for one more"):
        chat_model.call(HELLO)


@pytest.mark.parametrize("answers", ["text", AssistantMessage("x"), WHOLE, [3], [["a", 3]], [None]], ids=repr)
def test_what_is_no_script_is_refused(answers: Any) -> None:
    with pytest.raises(PromptError):
        ScriptedChatModel(answers)


def test_a_function_must_give_an_answer() -> None:
    chat_model = ScriptedChatModel([lambda prompt: 3])  # type: ignore[list-item,return-value]

    with pytest.raises(PromptError, match="answer 0"):
        chat_model.call(HELLO)


def test_threads_share_a_script() -> None:
    chat_model = ScriptedChatModel([str(number) for number in range(200)])

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: chat_model.call(HELLO).text, range(200)))

    assert sorted(map(int, texts)) == list(range(200))


@given(st.text())
def test_streams_lose_no_white_space(text: str) -> None:
    chunks = list(ScriptedChatModel([text]).stream(HELLO))

    assert "".join(chunk.text for chunk in chunks) == text
    assert chunks[-1].finish_reason == "stop"


def test_an_echo_gives_the_last_users_words() -> None:
    echo = EchoChatModel()
    prompt = Prompt([SystemMessage("s"), UserMessage(["Is there"]), UserMessage(["an echo", "?"])])

    response = echo.call(prompt)

    assert response.text == "an echo?"
    assert response.usage.prompt_tokens == echo.count_tokens(prompt)
    assert ChatResponse.from_chunks(echo.stream(prompt)) == response == asyncio.run(echo.acall(prompt))
    assert asyncio.run(contracts.acall(echo, prompt)) == response
    assert echo.call(Prompt([])).text == ""


def test_an_echo_streams_without_blocking() -> None:
    async def gather() -> list[ChatChunk]:
        return [chunk async for chunk in EchoChatModel().astream(Prompt("a b c"))]

    assert [chunk.text for chunk in asyncio.run(gather())] == ["a ", "b ", "c"]


def test_a_function_gives_an_answer_not_a_function() -> None:
    def nested(prompt: Prompt) -> Any:
        return lambda _: prompt.text

    with pytest.raises(PromptError, match="gave a function"):
        ScriptedChatModel([nested]).call(HELLO)
