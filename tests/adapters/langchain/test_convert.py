from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from promptkit.adapters.langchain import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatPromptValue,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    StringPromptValue,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
    message_to_dict,
    messages_from_dict,
    messages_to_dict,
    to_language_model_input,
)
from promptkit.errors import AdapterError
from promptkit.messages import UserMessage
from tests.adapters.langchain import strategies

CALL: Any = {"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
STORED = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"]}

FORMS: dict[str, tuple[Any, BaseMessage]] = {
    "itself": (HumanMessage("hi"), HumanMessage("hi")),
    "a text": ("hi", HumanMessage("hi")),
    "a pair": (("human", "hi"), HumanMessage("hi")),
    "a list of two": (["ai", "hi"], AIMessage("hi")),
    "a pair with blocks": (("user", [{"type": "text", "text": "x"}]), HumanMessage([{"type": "text", "text": "x"}])),
    "a developer": (("developer", "x"), SystemMessage("x", additional_kwargs={"__openai_role__": "developer"})),
    "OpenAI's dict": ({"role": "assistant", "content": "hi", "name": "bot"}, AIMessage("hi", name="bot")),
    "OpenAI's calls": (
        {"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]},
        AIMessage("", tool_calls=[CALL], additional_kwargs={}),
    ),
    "OpenAI's result": (
        {"role": "tool", "content": "3", "tool_call_id": "c1"},
        ToolMessage("3", tool_call_id="c1"),
    ),
    "a key of its own": ({"role": "user", "content": "x", "cached": True}, HumanMessage("x", additional_kwargs={"cached": True})),
    "LangChain's dict": ({"type": "human", "content": "hi", "id": "1"}, HumanMessage("hi", id="1")),
    "a free role": ({"type": "chat", "role": "Critic", "content": "x"}, ChatMessage("x", role="Critic")),
    "a stored message": ({"type": "human", "data": {"content": "hi"}}, HumanMessage("hi")),
    "a serialized message": ({**STORED, "kwargs": {"content": "hi", "type": "ai", "tool_calls": [CALL]}}, AIMessage("hi", tool_calls=[CALL])),
    "a message to remove": (("remove", "m1"), RemoveMessage("m1")),
}  # fmt: skip


@pytest.mark.parametrize("case", [case for case in FORMS if case != "a message to remove"])
def test_every_form_of_a_message_is_taken(case: str) -> None:
    given, message = FORMS[case]
    assert convert_to_messages([given]) == [message]


def test_a_message_to_remove_is_taken_as_a_dict() -> None:
    assert convert_to_messages([{"role": "remove", "content": "", "id": "m1"}]) == [RemoveMessage("m1")]


def test_prompt_values_and_any_iterable_are_taken() -> None:
    assert convert_to_messages(StringPromptValue("hi")) == [HumanMessage("hi")]
    assert convert_to_messages(iter(["a", ("ai", "b")])) == [HumanMessage("a"), AIMessage("b")]
    assert convert_to_messages(("a", "b")) == [HumanMessage("a"), HumanMessage("b")]
    assert to_language_model_input("hi") == StringPromptValue("hi")
    assert to_language_model_input([("human", "hi")]) == ChatPromptValue([HumanMessage("hi")])


class Dumped:
    def model_dump(self) -> dict[str, Any]:
        return {}


REFUSED: dict[str, tuple[Any, str]] = {
    "a text": ("hey", r"messages: a list of messages is meant, and this is one str: put it in a list, \['hey'\]"),
    "a pair": (("human", "hi"), r"this is a pair \(role, content\): put it in a list, \[\('human', 'hi'\)\]"),
    "a message": (HumanMessage("hi"), "this is one HumanMessage: put it in a list"),
    "a dict": ({"role": "user", "content": "x"}, "this is one dict: put it in a list"),
    "bytes": (b"hi", "this is one bytes"),
    "a number": (3, "must be a list of messages, not 3"),
    "a number among messages": (["hi", 3], r"messages\[1\]: must be a message, a str, a pair \(role, content\) or a dict, not 3"),
    "an unknown role": ([("robot", "x")], r"messages\[0\]: the role 'robot' is none of ai, assistant, developer, "),
    "a role that is no text": ([{"role": 3, "content": "x"}], "the role 3 is none of"),
    "a dict without role": ([{"content": "x"}], r"messages\[0\]: a dict of a message needs 'role' \(or 'type'\) and 'content'; it has 'content'"),
    "a dict without content": ([{"role": "user"}], "it has 'role'"),
    "an empty dict": ([{}], "it has nothing"),
    "a tool without id": ([{"role": "tool", "content": "x"}], r"messages\[0\]: the fields do not make a ToolMessage: .*tool_call_id"),
    "broken arguments": (
        [{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{"}}]}],
        r"messages\[0\]\.tool_calls\[0\]: the arguments of 'f' are not JSON",
    ),
    "calls that are no list": ([{"role": "assistant", "content": "", "tool_calls": 5}], r"messages\[0\]: tool_calls must be a list"),
    "kwargs that are no mapping": ([{"role": "user", "content": "x", "additional_kwargs": 4}], r"messages\[0\]: HumanMessage.additional_kwargs must be a mapping, not 4"),
    "kwargs in a list": ([{"role": "user", "content": "x", "additional_kwargs": [1]}], "additional_kwargs must be a mapping"),
    "wrong content": ([{"role": "user", "content": 3}], r"messages\[0\]: HumanMessage\.content must be"),
    "an unknown stored type": ([{"type": "robot", "data": {}}], r"messages\[0\]\.type: 'robot' is none of system"),
    "an unknown class": ([{**STORED, "id": ["x", "Robot"], "kwargs": {"content": ""}}], "'Robot' is no class of LangChain's messages"),
    "promptkit's message": ([UserMessage("hi")], r"messages\[0\]: is a message of promptkit: see to_messages"),
    "LangChain's own": ([Dumped()], r"messages\[0\]: is an object of LangChain's own: see from_langchain_core"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_list_of_messages_is_refused_with_its_place(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(AdapterError, match=message):
        convert_to_messages(given)


@given(strategies.histories())
def test_stored_messages_come_back(messages: list[BaseMessage]) -> None:
    stored = json.loads(json.dumps(messages_to_dict(messages)))

    assert messages_from_dict(stored) == messages
    assert convert_to_messages(stored) == messages
    assert [message_to_dict(message) for message in messages] == messages_to_dict(messages)


@given(strategies.histories())
def test_flat_dicts_come_back(messages: list[BaseMessage]) -> None:
    flat = [message_to_dict(message)["data"] for message in messages]

    back = convert_to_messages(flat)

    assert list(map(type, back)) == list(map(type, messages))
    for one, other in zip(messages, back, strict=True):
        same = one.mutate(content="") if one.content == () else one
        assert other.mutate(additional_kwargs={}) == same.mutate(additional_kwargs={})


def test_chunks_come_back_as_chunks() -> None:
    chunk = AIMessageChunk(
        "a", tool_call_chunks=[{"name": "f", "args": "{", "id": "1", "index": 0}], chunk_position="last"
    )
    stored = messages_to_dict([chunk, HumanMessageChunk("b")])

    assert stored[0]["type"] == "AIMessageChunk"
    assert messages_from_dict(stored) == [chunk, HumanMessageChunk("b")]


def test_stored_messages_are_yours_to_change() -> None:
    message = HumanMessage([{"type": "text", "text": "x"}])
    stored = messages_to_dict([message])
    stored[0]["data"]["content"][0]["text"] = "y"

    assert message.text == "x"


BROKEN: dict[str, tuple[Any, str]] = {
    "no dict": ("x", r"messages\[0\]: must be \{'type': …, 'data': \{…\}\}, not 'x'"),
    "no data": ({"type": "human"}, r"messages\[0\]: must be"),
    "an unknown type": ({"type": "robot", "data": {"content": ""}}, r"messages\[0\]\.type: 'robot' is none of"),
    "no type": ({"data": {"content": ""}}, r"messages\[0\]\.type: None is none of"),
    "an unknown field": ({"type": "human", "data": {"content": "", "nmae": "x"}}, r"messages\[0\]\.data: .*nmae"),
    "a wrong field": ({"type": "human", "data": {"content": "", "name": 3}}, r"messages\[0\]\.data: HumanMessage\.name must be"),
    "a missing field": ({"type": "chat", "data": {"content": ""}}, r"messages\[0\]\.data: .*role"),
    "what only other kinds have": ({"type": "human", "data": {"content": "", "tool_calls": []}}, "tool_calls"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_stored_messages_are_refused_with_their_place(case: str) -> None:
    stored, message = BROKEN[case]
    with pytest.raises(AdapterError, match=message):
        messages_from_dict([stored])


def test_a_field_of_the_first_versions_is_ignored() -> None:
    stored = {"type": "human", "data": {"content": "hi", "additional_kwargs": {}, "example": False}}
    assert messages_from_dict([stored]) == [HumanMessage("hi")]


@given(strategies.histories(strategies.plain_texts(), functions=False))
def test_openai_messages_keep_roles_texts_and_calls(messages: list[BaseMessage]) -> None:
    bodies = convert_to_openai_messages([message for message in messages if isinstance(message.content, str)])

    assert [(body["role"], body["content"]) for body in bodies] == [
        ({"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}.get(message.type) or message.role, message.content)  # type: ignore[attr-defined]
        for message in messages
        if isinstance(message.content, str)
    ]  # fmt: skip


WRONG_BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": None},
    {"type": "text", "text": 4},
    {"type": "guard_content", "guard_content": {"text": 5}},
    {"type": "media", "mime_type": 4, "data": b"x"},
    {"type": "json", "json": {"a": b"x"}},
]
WRONG_CALLS: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": 5, "name": "f", "arguments": "{}"},
    {"type": "tool_use", "id": "1", "name": 6, "input": {}},
    {"type": "tool_call", "id": "1", "name": "f", "args": 7},
]

OPENAI_REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a form": (lambda: convert_to_openai_messages([], text_format="json"), "text_format must be 'string' or 'block', not 'json'"),  # type: ignore[call-overload]
    "a message to remove": (lambda: convert_to_openai_messages([RemoveMessage("1")]), "RemoveMessage has no role"),
    "one that becomes two": (
        lambda: convert_to_openai_messages(
            HumanMessage([{"type": "tool_result", "tool_use_id": "1", "content": "x"}, {"type": "text", "text": "y"}])
        ),
        "the message becomes several in OpenAI's form: put it in a list",
    ),
    "unknown blocks": (
        lambda: convert_to_openai_messages(
            [HumanMessage("x"), HumanMessage(["y", {"type": "hologram"}, {"type": "smell"}])], pass_through_unknown_blocks=False
        ),
        r"messages\[1\]\.content\[1\].*hologram.*; .*messages\[1\]\.content\[2\].*smell",
    ),
    "wrong types in blocks": (
        lambda: convert_to_openai_messages([HumanMessage([block]) for block in WRONG_BLOCKS]),
        "; ".join(rf"messages\[{index}\]\.content\[0\]: [^;]*" for index in range(len(WRONG_BLOCKS))),
    ),
    "wrong types in calls": (
        lambda: convert_to_openai_messages([AIMessage([block]) for block in WRONG_CALLS]),
        "; ".join(rf"messages\[{index}\]\.content\[0\]: [^;]* is no tool call: [^;]*" for index in range(len(WRONG_CALLS))),
    ),
    "an image without URL": (
        lambda: convert_to_openai_messages([HumanMessage([{"type": "image_url"}])]),
        r"messages\[0\]\.content\[0\]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OPENAI_REFUSED)
def test_what_openai_has_no_form_for_is_refused_with_its_place(case: str) -> None:
    make, message = OPENAI_REFUSED[case]
    with pytest.raises(AdapterError, match=message):
        make()


def test_one_message_gives_one_dict_and_several_give_a_list() -> None:
    assert convert_to_openai_messages("hi") == {"role": "user", "content": "hi"}
    assert convert_to_openai_messages({"role": "user", "content": "hi"}) == {"role": "user", "content": "hi"}
    assert convert_to_openai_messages([HumanMessage("hi", id="1")], include_id=True) == [
        {"role": "user", "content": "hi", "id": "1"}
    ]
    assert convert_to_openai_messages(StringPromptValue("hi"), text_format="block") == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    ]


def test_functions_and_free_roles_keep_their_roles() -> None:
    assert convert_to_openai_messages([FunctionMessage("3", name="f"), ChatMessage("x", role="critic")]) == [
        {"role": "function", "name": "f", "content": "3"},
        {"role": "critic", "content": "x"},
    ]


@pytest.mark.parametrize("function", [messages_to_dict, messages_from_dict])
def test_what_is_no_list_of_messages_is_not_stored(function: Any) -> None:
    for wrong, problem in (
        (None, "must be a list of messages, not None"),
        ({}, "one dict"),
        ([3], r"messages\[0\]: must be"),
    ):
        with pytest.raises(AdapterError, match=problem):
            function(wrong)
    with pytest.raises(AdapterError, match="message: must be a message, not 3"):
        message_to_dict(3)  # type: ignore[arg-type]
