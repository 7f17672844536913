from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from promptkit.content import Media, Text
from promptkit.errors import PromptError
from promptkit.messages import (
    AssistantMessage,
    Message,
    MessageType,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt import Prompt
from tests import strategies

SYSTEM, USER, ANSWER = SystemMessage("be brief"), UserMessage("hi"), AssistantMessage("hello")
CALLS = AssistantMessage(tool_calls=[ToolCall("c", "f")])
RESULT = ToolResponseMessage(ToolResponse("c", "f", content="3"))


class Note:
    """A message class of an application."""

    message_type = MessageType.USER
    content = "noted"
    metadata: dict[str, Any] = {}  # noqa: RUF012 - as somebody may write it


def broken() -> Iterator[Message]:
    yield USER
    raise OSError("the disk is gone")


@given(strategies.prompts())
def test_prompts_are_values(prompt: Prompt) -> None:
    again = pickle.loads(pickle.dumps(prompt))

    assert again == copy.deepcopy(prompt) == prompt.mutate() == Prompt(prompt.messages, prompt.options) == prompt
    assert hash(again) == hash(prompt)
    assert (len(prompt), list(prompt), prompt[:]) == (len(prompt.messages), list(prompt.messages), prompt.messages)
    assert prompt


@pytest.mark.parametrize(
    ("source", "messages"),
    [
        ("hi", (USER,)),
        ("", (UserMessage(""),)),
        (MessageType.USER, (UserMessage("user"),)),
        (USER, (USER,)),
        ([SYSTEM, USER], (SYSTEM, USER)),
        ((SYSTEM, USER), (SYSTEM, USER)),
        (iter([SYSTEM, USER]), (SYSTEM, USER)),
        ([], ()),
    ],
    ids=strategies.label,
)
def test_a_prompt_is_built_from_text_message_or_messages(source: Any, messages: tuple[Message, ...]) -> None:
    prompt = Prompt(source)

    assert prompt.messages == messages
    assert type(prompt.messages) is tuple
    assert prompt.options is NO_OPTIONS is Prompt(source, options=None).options


def test_a_message_of_another_class_is_kept() -> None:
    note = Note()

    assert Prompt(note)[0] is Prompt([SYSTEM, note])[1] is note
    assert Prompt(note).text == "noted"
    assert Prompt(note).user_message is note


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (None, "^content or messages of a Prompt must be a text, a message or messages, not None$"),
        (b"hi", "not b'hi'$"),
        ({"role": "user", "content": "hi"}, "^content or messages of a Prompt must be a text"),
        (5, "^messages must be a message, not 5"),
        ([USER, None], r"^messages\[1\] must be a message, not None; text alone is UserMessage"),
        ([USER, "hi"], r"^messages\[1\] must be a message, not 'hi'; text alone is UserMessage"),
        (
            [{"role": "user", "content": "hi"}],
            r"^messages\[0\] is a mapping, not a message: write UserMessage\('…'\), or read",
        ),
        ([USER, [USER]], r"^messages\[1\] must be a message, not \[UserMessage"),
        (Prompt("hi", ChatOptions(seed=1)), "^messages of a Prompt must not be a Prompt, whose options would be lost"),
        (broken(), "^messages cannot be read: OSError: the disk is gone$"),
    ],
    ids=strategies.label,
)
def test_what_is_no_message_is_refused(source: Any, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        Prompt(source)


def test_options_are_options() -> None:
    with pytest.raises(PromptError, match=r"^options of a Prompt must be ChatOptions, not \{'seed': 1\}$"):
        Prompt("hi", {"seed": 1})  # type: ignore[arg-type]


def test_queries_give_a_message_or_none() -> None:
    other = SystemMessage("be kind")
    prompt = Prompt([USER, SYSTEM, CALLS, RESULT, other, UserMessage("again"), ANSWER])

    assert (prompt.system_message, prompt.system_messages) == (SYSTEM, (SYSTEM, other))
    assert (prompt.user_message, prompt.user_messages) == (UserMessage("again"), (USER, UserMessage("again")))
    assert prompt.last_user_or_tool_response_message == UserMessage("again")
    assert Prompt([USER, CALLS, RESULT, ANSWER]).last_user_or_tool_response_message is RESULT
    empty = Prompt([])
    assert (empty.system_message, empty.user_message, empty.last_user_or_tool_response_message) == (None, None, None)
    assert (empty.system_messages, empty.text, len(empty), bool(empty)) == ((), "", 0, True)
    with pytest.raises(IndexError):
        _ = empty[0]


def test_text_skips_what_says_nothing() -> None:
    prompt = Prompt([SYSTEM, UserMessage(["a", Media(file_id="f"), "b"]), CALLS, RESULT, UserMessage(""), ANSWER])

    assert prompt.text == "be brief\nab\nhello"
    assert prompt.join_text(" | ") == "be brief | ab | hello"


ROLES = {
    "system first": ([SYSTEM, USER], SYSTEM, 0),
    "in the middle": ([USER, SYSTEM, ANSWER, SystemMessage("two")], SYSTEM, 1),
}


@pytest.mark.parametrize(("messages", "old", "at"), ROLES.values(), ids=ROLES)
def test_the_first_system_message_is_augmented_in_place(messages: list[Message], old: Message, at: int) -> None:
    prompt = Prompt(messages, ChatOptions(seed=1))
    seen: list[Message] = []

    def add(message: Message) -> Message:
        seen.append(message)
        assert isinstance(message, SystemMessage)
        return message.with_text(f"{message.text} and kind")

    changed = prompt.augment_system_message(add)
    assert seen == [old]
    assert changed.messages == (*messages[:at], SystemMessage("be brief and kind"), *messages[at + 1 :])
    assert changed.options is prompt.options
    assert prompt.messages == tuple(messages)
    assert prompt.augment_system_message("new")[at] == SystemMessage("new")


def test_the_last_user_message_is_augmented_in_place() -> None:
    picture = Media(file_id="f")
    rich = UserMessage([picture, Text("q", metadata={"k": 1})], metadata={"m": 1}, name="Ada", id="u1")
    prompt = Prompt([USER, rich, ANSWER])

    assert prompt.augment_user_message("new").messages == (
        USER,
        rich.mutate(content=(picture, Text("new", metadata={"k": 1}))),
        ANSWER,
    )


@pytest.mark.parametrize("messages", [[], [ANSWER], [RESULT]], ids=["empty", "answer", "result"])
def test_an_absent_message_is_added(messages: list[Message]) -> None:
    prompt = Prompt(messages)

    assert prompt.augment_system_message("s").messages == (SystemMessage("s"), *messages)
    assert prompt.augment_user_message("u").messages == (*messages, UserMessage("u"))
    assert prompt.augment_user_message(lambda absent: absent).messages == (*messages, UserMessage(""))


def test_a_change_is_text_or_a_function_to_a_message() -> None:
    with pytest.raises(PromptError, match=r"^the change of a message must be its new text or a function, not None$"):
        Prompt("hi").augment_user_message(None)  # type: ignore[arg-type]
    with pytest.raises(PromptError, match=r"^messages\[0\] must be a message, not 'HI'"):
        Prompt("hi").augment_user_message(lambda message: "HI")  # type: ignore[arg-type,return-value]


def test_a_prompt_shows_messages_and_set_options() -> None:
    assert repr(Prompt([SYSTEM, USER])) == "Prompt([SystemMessage('be brief'), UserMessage('hi')])"
    assert repr(Prompt("hi", ChatOptions(seed=1))) == "Prompt([UserMessage('hi')], options=ChatOptions(seed=1))"
