from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from promptkit.errors import HistoryError
from promptkit.history import (
    Step,
    filter_messages,
    merge_message_runs,
    repair_history,
    trim_messages,
    trim_to_window,
)
from promptkit.messages import AssistantMessage, Message, SystemMessage, UserMessage
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse, Generation

HISTORY: list[Message] = [
    SystemMessage("s"), UserMessage("1"), AssistantMessage("2"), UserMessage("3"), UserMessage("4"),
]  # fmt: skip


class Template:
    def create(self, model: Mapping[str, object] | None = None) -> Prompt:
        return Prompt([*HISTORY, UserMessage(f"Hi {(model or {})['name']}")], options=ChatOptions(temperature=0))


class Model:
    def call(self, prompt: Prompt) -> ChatResponse:
        return ChatResponse(Generation(AssistantMessage(f"{prompt.options.temperature} {prompt.join_text('|')}")))


class AsyncModel:
    async def acall(self, prompt: Prompt) -> ChatResponse:
        await asyncio.sleep(0)
        return Model().call(prompt)


class Runnable:
    """What LangChain's objects look like from here: they stream too, and are no model of ours."""

    def invoke(self, value: Any) -> str:
        return f"{len(value)} messages"

    async def ainvoke(self, value: Any) -> str:
        return self.invoke(value)

    def stream(self, value: Any) -> None:
        raise AssertionError


TRIMMER = trim_messages(max_tokens=2, counter="messages")


def test_a_template_stands_before_and_a_model_behind() -> None:
    assert (Template() | TRIMMER | Model()).call({"name": "Ada"}).text == "0 s|Hi Ada"


def test_the_same_without_blocking() -> None:
    for model in (Model(), AsyncModel()):
        assert asyncio.run((Template() | TRIMMER | model).acall({"name": "Ada"})).text == "0 s|Hi Ada"


def test_a_chain_with_a_model_behind_is_a_model() -> None:
    model = merge_message_runs(separator=" ") | Model()
    assert (TRIMMER | model).call(Prompt(HISTORY)).text == "None s|4"
    assert (trim_messages(max_tokens=2, counter="messages") | model).call(HISTORY).text == "None s|4"


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        (TRIMMER, [0, 4]),
        (filter_messages(exclude_types="system"), [1, 2, 3, 4]),
        (trim_to_window(high=4, low=3, counter="messages"), [0, 3, 4]),
        (filter_messages(include_types="user") | TRIMMER, [3, 4]),
        (repair_history(rules="openai"), [0, 1, 2, 3, 4]),
    ],
    ids=["trim", "filter", "window", "two", "repair"],
)
def test_steps_take_messages_and_prompts(step: Step, kept: list[int]) -> None:
    expected = tuple(HISTORY[index] for index in kept)
    assert tuple(step.invoke(HISTORY)) == expected
    assert asyncio.run(step.ainvoke(Prompt(HISTORY, ChatOptions(model="m")))) == Prompt(
        expected, ChatOptions(model="m")
    )


def test_other_objects_stand_in_a_chain() -> None:
    assert (TRIMMER | Runnable()).invoke(HISTORY) == "2 messages"
    assert asyncio.run((TRIMMER | len | str).ainvoke(HISTORY)) == "2"
    assert (list.copy | TRIMMER).invoke(HISTORY) == (HISTORY[0], HISTORY[4])
    assert asyncio.run((TRIMMER | Runnable()).ainvoke(HISTORY)) == "2 messages"


def test_wrong_options_raise_when_the_step_is_made() -> None:
    with pytest.raises(HistoryError, match="strategy must be"):
        trim_messages(max_tokens=2, counter="messages", strategy="middle")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="counter"):
        trim_messages(max_tokens=2)  # type: ignore[call-overload]


def test_what_does_nothing_cannot_stand_in_a_chain() -> None:
    with pytest.raises(TypeError, match="3 cannot stand in a chain: give a template"):
        TRIMMER | 3
    with pytest.raises(TypeError, match="None cannot stand in a chain"):
        None | TRIMMER
