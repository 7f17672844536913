from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from promptkit import serialization
from promptkit._frozen import FrozenDict
from promptkit.content import Media, Opaque, Reasoning, Text
from promptkit.errors import SerializationError
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    MessageType,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import UNSET, ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, ToolCallChunk, Usage
from promptkit.serialization import SCHEMA_VERSION, dumps, from_dict, loads, to_dict
from tests import strategies

STORABLE: dict[str, st.SearchStrategy[Any]] = {
    "part": strategies.parts(),
    "message": strategies.messages(),
    "messages": strategies.conversations(),
    "prompt": strategies.prompts(),
    "options": strategies.options(),
    "response": strategies.responses(),
    "chunk": strategies.chunks(),
}


def holds_split_character(data: Any) -> bool:
    text = json.dumps(data, ensure_ascii=False)
    return any("\ud800" <= high <= "\udbff" and "\udc00" <= low <= "\udfff" for high, low in itertools.pairwise(text))


@pytest.mark.parametrize("kind", STORABLE)
@given(data=st.data())
def test_what_is_stored_comes_back(kind: str, data: st.DataObject) -> None:
    value = data.draw(STORABLE[kind])
    stored = to_dict(value)
    before = copy.deepcopy(stored)

    assert from_dict(stored) == value
    assert stored == before
    try:
        text = dumps(value)
    except SerializationError:
        assert holds_split_character(stored)
    else:
        text.encode()
        assert loads(text) == loads(text.encode()) == value
        assert dumps(loads(text)) == text
        assert json.loads(text) == stored


PNG = b"\x89PNG\r\n\x1a\n"
REST: dict[str, Any] = {"metadata": {"k": b"\xff"}, "name": "n", "id": "i"}
STORED_REST = {"metadata": {"k": {"$bytes": "/w=="}}, "name": "n", "id": "i"}
CALL = ToolCall("c", "f", arguments='{"a":1}')

# The forms below are a promise: data that was written once can be read for ever. A change needs a new version.
FORMS: list[tuple[Any, dict[str, Any]]] = [
    (UserMessage("hi"), {"type": "user", "content": "hi"}),
    (SystemMessage("hi", **REST), {"type": "system", "content": "hi", **STORED_REST}),
    (AssistantMessage(), {"type": "assistant"}),
    (AssistantMessage(""), {"type": "assistant", "content": ""}),
    (AssistantMessage("hi", **REST), {"type": "assistant", "content": "hi", **STORED_REST}),
    (
        AssistantMessage(tool_calls=[CALL, ToolCall(None, "g", metadata={"s": 1})]),
        {
            "type": "assistant",
            "tool_calls": [{"id": "c", "name": "f", "arguments": '{"a":1}'}, {"id": None, "name": "g", "metadata": {"s": 1}}],
        },
    ),
    (
        AssistantMessage("a", invalid_tool_calls=[InvalidToolCall(None, None), InvalidToolCall("c", "f", arguments="{", error="cut")]),
        {
            "type": "assistant",
            "content": "a",
            "invalid_tool_calls": [{"id": None, "name": None}, {"id": "c", "name": "f", "arguments": "{", "error": "cut"}],
        },
    ),
    (
        ToolResponseMessage([ToolResponse("c", "f", content="3"), ToolResponse(None)], **REST),
        {"type": "tool", "responses": [{"id": "c", "name": "f", "content": "3"}, {"id": None}], **STORED_REST},
    ),
    (
        ToolResponseMessage(ToolResponse("c", content=["see", Media(PNG)], status="error", artifact=[b"\xff", {"$map": 1}])),
        {
            "type": "tool",
            "responses": [
                {
                    "id": "c",
                    "content": [
                        {"type": "text", "text": "see"},
                        {"type": "media", "data": "iVBORw0KGgo=", "mime_type": "image/png"},
                    ],
                    "status": "error",
                    "artifact": [{"$bytes": "/w=="}, {"$map": {"$map": 1}}],
                }
            ],
        },
    ),
    (Text("hi", metadata={"k": 1}), {"type": "text", "text": "hi", "metadata": {"k": 1}}),
    (Media(url="https://e.org/a.png"), {"type": "media", "mime_type": "image/png", "url": "https://e.org/a.png"}),
    (Media(file_id="f", name="n", id="i"), {"type": "media", "file_id": "f", "name": "n", "id": "i"}),
    (Reasoning("hm"), {"type": "reasoning", "text": "hm"}),
    (Opaque("anthropic", {"type": "x"}), {"type": "opaque", "vendor": "anthropic", "payload": {"type": "x"}}),
    ((), {"type": "messages", "messages": []}),
    ((UserMessage("a"),), {"type": "messages", "messages": [{"type": "user", "content": "a"}]}),
    (
        Prompt("hi", ChatOptions(model="m", temperature=0)),
        {"type": "prompt", "messages": [{"type": "user", "content": "hi"}], "options": {"model": "m", "temperature": 0}},
    ),
    (ChatOptions(), {"type": "options"}),
    (
        ChatOptions(
            top_p=0.5,
            top_k=1,
            max_tokens=2,
            stop_sequences=["s"],
            frequency_penalty=0.1,
            presence_penalty=-0.1,
            seed=3,
            tools=[ToolDefinition("f", "d", input_schema={"type": "object"}), ToolDefinition("g")],
            tool_choice="f",
            output_schema={"type": "object"},
            extra={"k": b"\xff"},
            temperature=UNSET,
            model=UNSET,
        ),
        {
            "type": "options",
            "top_p": 0.5,
            "top_k": 1,
            "max_tokens": 2,
            "stop_sequences": ["s"],
            "frequency_penalty": 0.1,
            "presence_penalty": -0.1,
            "seed": 3,
            "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}, {"name": "g"}],
            "tool_choice": "f",
            "output_schema": {"type": "object"},
            "extra": {"k": {"$bytes": "/w=="}},
            "removed": ["model", "temperature"],
        },
    ),
    (
        Usage(1, 2, cache_read_tokens=0, cache_write_tokens=3, reasoning_tokens=1, native={"k": 1}),
        {
            "type": "usage",
            "prompt_tokens": 1,
            "completion_tokens": 2,
            "total_tokens": 3,
            "cache_read_tokens": 0,
            "cache_write_tokens": 3,
            "reasoning_tokens": 1,
            "native": {"k": 1},
        },
    ),
    (
        ChatResponse(Generation(AssistantMessage("hi"), "stop", metadata={"k": 1}), id="r", model="m", usage=Usage(1), metadata={"l": 2}),
        {
            "type": "response",
            "results": [{"output": {"type": "assistant", "content": "hi"}, "finish_reason": "stop", "metadata": {"k": 1}}],
            "id": "r",
            "model": "m",
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
            "metadata": {"l": 2},
        },
    ),
    (
        ChatChunk("x", tool_calls=[ToolCallChunk(0, "c", name="f", arguments="{", error="")], choice=None, usage=Usage(1), usage_is_delta=True),
        {
            "type": "chunk",
            "content": "x",
            "tool_calls": [{"index": 0, "id": "c", "name": "f", "arguments": "{", "error": ""}],
            "choice": None,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
            "usage_is_delta": True,
        },
    ),
    (
        ChatChunk(finish_reason="stop", block=1, choice=1, id="r", model="m", metadata={"a": 1}, generation_metadata={"b": 1}, message_metadata={"c": 1}, message_id="i", name="n"),
        {
            "type": "chunk",
            "finish_reason": "stop",
            "block": 1,
            "choice": 1,
            "id": "r",
            "model": "m",
            "metadata": {"a": 1},
            "generation_metadata": {"b": 1},
            "message_metadata": {"c": 1},
            "message_id": "i",
            "name": "n",
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("value", "form"), FORMS, ids=[f"{at}-{form['type']}" for at, (_, form) in enumerate(FORMS)])
def test_the_stored_form_is_a_promise(value: Any, form: dict[str, Any]) -> None:
    stored = to_dict(value)

    assert stored == {"promptkit": 1, **form}
    assert list(stored) == list({"promptkit": 1, **form})
    assert from_dict(stored) == value
    assert from_dict(FrozenDict(stored)) == value
    assert pickle.loads(pickle.dumps(from_dict(stored))) == value


def test_every_field_is_stored() -> None:
    kinds = [
        *serialization._BY_CLASS.values(),
        *serialization._MESSAGES,
        serialization._CALL,
        serialization._INVALID_CALL,
    ]
    kinds += [serialization._RESPONSE, serialization._DEFINITION, serialization._GENERATION, serialization._CALL_CHUNK]

    for kind in kinds:
        assert set(kind._names) == {field.name for field in kind.cls.__attrs_attrs__ if field.init}


def test_a_list_of_messages_comes_back_as_a_tuple() -> None:
    def some() -> Iterator[UserMessage]:
        yield UserMessage("a")

    assert loads(dumps([UserMessage("a")])) == loads(dumps(some())) == (UserMessage("a"),)


# Versions


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            {"promptkit": 2, "type": "hologram"},
            "written in version 2 of the schema and this promptkit reads up to 1: update",
        ),
        ({"promptkit": 10**30, "type": "user"}, "written in version 1000"),
        ({"type": "user", "content": "hi"}, "'promptkit' must be the version of the schema, not None"),
        ({"promptkit": True, "type": "user", "content": "hi"}, "not True"),
        ({"promptkit": "1", "type": "user", "content": "hi"}, "not '1'"),
        ({"promptkit": 0, "type": "user", "content": "hi"}, "not 0"),
        ({"lc": 1, "type": "constructor"}, "not None"),
        ([], r"a stored value is an object with 'promptkit' and 'type', not \[\]"),
        (None, "not None"),
        ("{}", "not '{}'"),
    ],
    ids=str,
)
def test_what_another_wrote_is_refused_untouched(data: Any, words: str) -> None:
    before = copy.deepcopy(data)

    with pytest.raises(SerializationError, match=words) as caught:
        from_dict(data)
    assert caught.value.path == ""
    assert data == before
    assert SCHEMA_VERSION == 1


# Damage


WHOLE = to_dict(
    Prompt(
        [
            SystemMessage("s"),
            UserMessage(["u", Media(PNG, metadata={"thumb": {"small": b"x"}})], name="n"),
            AssistantMessage(tool_calls=[CALL]),
            ToolResponseMessage(ToolResponse("c", "f", content="3")),
        ],
        ChatOptions(temperature=0.5, tools=[ToolDefinition("f")], stop_sequences=["s"]),
    )
)
ANSWER = to_dict(ChatResponse(Generation(AssistantMessage("hi")), usage=Usage(1)))


def damaged(data: dict[str, Any], *steps: Any, value: Any) -> dict[str, Any]:
    """Change a copy in one place; the last step is the place."""
    damaged_copy = copy.deepcopy(data)
    found: Any = damaged_copy
    for step in steps[:-1]:
        found = found[step]
    if value is DELETE:
        del found[steps[-1]]
    else:
        found[steps[-1]] = value
    return damaged_copy


DELETE = object()
MEDIA = ("messages", 1, "content", 1)


@pytest.mark.parametrize(
    ("steps", "value", "path", "words"),
    [
        (
            ("type",),
            "hologram",
            "",
            "a value of the unknown type 'hologram'; known are system, user, assistant, tool, text",
        ),
        (("type",), DELETE, "", "a value of the unknown type None"),
        (("type",), ["prompt"], "", r"a value of the unknown type \['prompt'\]"),
        (("new",), 1, "", "has the unknown field 'new'"),
        (("messages",), DELETE, "messages", "is missing"),
        (("messages",), {}, "messages", r"must be a list, not \{\}"),
        (("messages",), None, "messages", "must be a list, not None"),
        (("messages", 0), None, "messages[0]", "must be an object, not None"),
        (
            ("messages", 1, "type"),
            "custom-thing",
            "messages[1]",
            "a message of the unknown type 'custom-thing'; known are system",
        ),
        (("messages", 1, "type"), "text", "messages[1]", "a message of the unknown type 'text'"),
        (("messages", 0, "content"), None, "messages[0].content", "must hold"),
        (("messages", 0, "content"), 5, "messages[0].content", "must be a text or a list of parts, not 5"),
        (("messages", 0, "content"), DELETE, "messages[0].content", "is missing"),
        (("messages", 0, "nmae"), "n", "messages[0]", "has the unknown field 'nmae'"),
        (("messages", 1, "name"), 5, "messages[1].name", "must be a str, not 5"),
        (("messages", 1, "metadata"), [1], "messages[1].metadata", "must be a mapping"),
        (("messages", 1, "content", 0), "text", "messages[1].content[0]", "must be an object, not 'text'"),
        (("messages", 1, "content", 0, "text"), None, "messages[1].content[0].text", "must be a str, not None"),
        ((*MEDIA, "type"), "user", "messages[1].content[1]", "a part of the unknown type 'user'"),
        ((*MEDIA, "mime_type"), 5, "messages[1].content[1].mime_type", "must be a str, not 5"),
        ((*MEDIA, "mime_type"), "png", "messages[1].content[1].mime_type", "must look like 'image/png'"),
        ((*MEDIA, "data"), "not base64", "messages[1].content[1].data", "is no base64"),
        ((*MEDIA, "data"), "", "messages[1].content[1].data", "is empty"),
        ((*MEDIA, "data"), 5, "messages[1].content[1].data", "is no base64"),
        (
            (*MEDIA, "url"),
            "https://e.org/a.png",
            "messages[1].content[1]",
            "takes exactly one of data, url and file_id",
        ),
        (
            (*MEDIA, "metadata", "thumb", "small", "$bytes"),
            "%",
            "messages[1].content[1].metadata.thumb.small",
            "is no base64",
        ),
        (("messages", 2, "tool_calls"), "c", "messages[2].tool_calls", "must be a list, not 'c'"),
        (("messages", 2, "tool_calls", 0), None, "messages[2].tool_calls[0]", "must be an object, not None"),
        (("messages", 2, "tool_calls", 0, "id"), DELETE, "messages[2].tool_calls[0].id", "is missing"),
        (("messages", 2, "tool_calls", 0, "name"), "", "messages[2].tool_calls[0].name", "is empty"),
        (
            ("messages", 2, "tool_calls", 0, "arguments"),
            {},
            "messages[2].tool_calls[0].arguments",
            r"must be a text, not \{\}",
        ),
        (
            ("messages", 2, "tool_calls", 0, "arguments"),
            None,
            "messages[2].tool_calls[0].arguments",
            "must be JSON text",
        ),
        (
            ("messages", 2, "tool_calls", 0, "type"),
            "function",
            "messages[2].tool_calls[0]",
            "has the unknown field 'type'",
        ),
        (("messages", 3, "responses"), [], "messages[3].responses", "is empty"),
        (
            ("messages", 3, "responses", 0, "status"),
            "ok",
            "messages[3].responses[0].status",
            "must be 'success' or 'error'",
        ),
        (("options",), None, "options", "must be an object, not None"),
        (("options", "temperature"), "hot", "options.temperature", "must be a finite number"),
        (("options", "temperature"), True, "options.temperature", "must be a finite number"),
        (("options", "stop_sequences"), "s", "options.stop_sequences", "must be a list, not 's'"),
        (("options", "stop_sequences"), [5], "options.stop_sequences[0]", "is no str: 5"),
        (("options", "tools"), {}, "options.tools", "must be a list"),
        (("options", "tools", 0, "name"), " ", "options.tools[0].name", "is blank"),
        (("options", "removed"), "model", "options.removed", "must be a list, not 'model'"),
        (("options", "removed"), ["modle"], "options.removed", "names no option"),
    ],
)
def test_damage_is_named_by_its_path(steps: tuple[Any, ...], value: Any, path: str, words: str) -> None:
    with pytest.raises(SerializationError, match=words) as caught:
        from_dict(damaged(WHOLE, *steps, value=value))
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: " if path else "")


@pytest.mark.parametrize(
    ("steps", "value", "path"),
    [
        (("results",), None, "results"),
        (("results", 0, "output"), DELETE, "results[0].output"),
        (("results", 0, "output", "type"), "user", "results[0].output"),
        (("results", 0, "finish_reason"), 5, "results[0].finish_reason"),
        (("usage", "prompt_tokens"), True, "usage.prompt_tokens"),
        (("usage", "prompt_tokens"), 1.0, "usage.prompt_tokens"),
        (("usage", "type"), "usage", "usage"),
        (("id",), 5, "id"),
    ],
)
def test_damage_of_a_response_is_named_too(steps: tuple[Any, ...], value: Any, path: str) -> None:
    with pytest.raises(SerializationError) as caught:
        from_dict(damaged(ANSWER, *steps, value=value))
    assert caught.value.path == path


@given(st.data())
def test_any_damage_is_a_typed_error_or_another_value(data: st.DataObject) -> None:
    stored: Any = copy.deepcopy(data.draw(st.sampled_from((WHOLE, ANSWER))))
    found = stored
    while True:
        key = data.draw(st.sampled_from(sorted(found) if isinstance(found, dict) else range(len(found))))
        inside = found[key]
        if not isinstance(inside, dict | list) or not inside or data.draw(st.booleans()):
            break
        found = inside
    found[key] = data.draw(strategies.json_values(with_bytes=False))

    try:
        from_dict(stored)
    except SerializationError as error:
        str(error).encode("utf-8", "backslashreplace")


# Hostile data


def deep(depth: int) -> Any:
    value: Any = 1
    for at in range(depth):
        value = [value] if at % 2 else {"k": value}
    return value


@pytest.mark.parametrize("depth", [150, 300, 900, 100_000])
def test_deep_nesting_is_a_typed_error(depth: int) -> None:
    with pytest.raises(SerializationError, match="nests"):
        from_dict({"promptkit": 1, "type": "user", "content": "hi", "metadata": {"k": deep(depth)}})
    with pytest.raises(SerializationError, match="nests"):
        loads('{"promptkit":1,"type":"user","content":"hi","metadata":{"k":' + "[" * depth + "]" * depth + "}}")


@pytest.mark.parametrize(
    "text",
    ["", "{", "nonsense", '{"promptkit": NaN}', b"\xff\xfe", "[1]", "9" * 5000, "[" * 100_000],
    ids=lambda text: text[:8],
)
def test_text_that_is_no_value_is_a_typed_error(text: Any) -> None:
    with pytest.raises(SerializationError):
        loads(text)


def test_numbers_keep_their_kind_and_digits() -> None:
    numbers = {"int": 10**4000, "one": 1, "float": 1.0, "tiny": 5e-324, "third": 1 / 3, "true": True, "minus": -0.0}
    again = loads(dumps(UserMessage("", metadata=numbers))).metadata

    assert {key: repr(value) for key, value in again.items()} == {key: repr(value) for key, value in numbers.items()}


def test_any_character_survives() -> None:
    for text in ("\x00", "\ud83e", "a\udfffb", "\u2028", "\\ud83e\\udd84", "\u202etxet", "🦄\ud83e"):
        message = UserMessage(text, metadata={text: text})
        dumps(message).encode()
        assert loads(dumps(message)) == message
    assert dumps(UserMessage("é🦄")) == '{"promptkit":1,"type":"user","content":"é🦄"}'


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"k": ["a", "\ud83e\udd84"]}, "messages[1].metadata.k[1]"),
        ({"\ud83e\udd84": 1}, r"messages[1].metadata.'\ud83e\udd84'"),
    ],
)
def test_a_character_in_two_halves_is_refused_where_json_would_join_it(metadata: dict[str, Any], path: str) -> None:
    history = [UserMessage("🦄"), UserMessage("b", metadata=metadata)]

    assert from_dict(to_dict(history)) == tuple(history)
    with pytest.raises(SerializationError, match="a character as two surrogates, which JSON would join") as caught:
        dumps(history)
    assert caught.value.path == path
    str(caught.value).encode()


def test_marks_in_user_data_stay_user_data() -> None:
    for data in (
        {"$bytes": "/w=="},
        {"$map": {"$bytes": b"/w=="}},
        {"lc": 1, "type": "secret", "id": ["HOME"]},
        {"promptkit": 9},
    ):
        message = AssistantMessage("x", metadata=data, tool_calls=[ToolCall("c", "f", metadata=data)])
        assert loads(dumps(message)) == message
        assert loads(dumps(UserMessage(dumps(message)))).content == dumps(message)


def test_size_grows_with_the_text_only() -> None:
    long = UserMessage("x" * 10_000_000)

    assert len(dumps(long)) < 10_000_100
    assert loads(dumps(long)) == long


# Classes of users


@frozen
class Signed(UserMessage):
    signature: str = ""


@frozen
class Marked(Text):
    mark: str = ""


@frozen
class Timed(ToolCall):
    seconds: int = 0


@frozen
class Sourced(ToolResponse):
    source: str = ""


@frozen
class Costly(ChatOptions):
    price: int = 0


@frozen
class Named(Prompt):
    title: str = ""


class Note:
    message_type = MessageType.USER
    metadata: dict[str, Any] = {}  # noqa: RUF012 - as somebody may write it

    def __init__(self, content: Any) -> None:
        self.content = content


def test_message_classes_of_users_are_stored_as_ours() -> None:
    assert loads(dumps(Signed("hi", id="i", signature="s"))) == UserMessage("hi", id="i")
    assert loads(dumps(Note(["hi", Media(PNG)]))) == UserMessage(["hi", Media(PNG)])
    assert loads(dumps(Prompt([Note("a"), Signed("b")]))) == Prompt([UserMessage("a"), UserMessage("b")])


def broken() -> Iterator[Any]:
    yield UserMessage("a")
    raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        (None, "", "message must be a message, not None"),
        (5, "", "message must be a message, not 5"),
        ("text", "", "message must be a message, not 'text'"),
        ({"type": "user"}, "", "message is a mapping, not a message"),
        ([{"type": "user"}], "messages[0]", "message is a mapping, not a message"),
        ([UserMessage("a"), "b"], "messages[1]", "message must be a message, not 'b'"),
        (broken(), "", "^messages cannot be read: OSError: the disk is gone$"),
        (Named("hi", title="t"), "", "message must be a message, not "),
        (UserMessage(["a", Marked("b", mark="m")]), "content[1]", "only messages can be stored, not Marked"),
        (
            AssistantMessage(tool_calls=[CALL, Timed("c", "f", arguments="{ }")]),
            "tool_calls[1]",
            "only messages can be stored",
        ),
        (ToolResponseMessage(Sourced("c", "f", content="x")), "responses[0]", "only messages can be stored"),
        (Prompt("hi", Costly(seed=1)), "options", "only messages can be stored, not Costly"),
        (Prompt([UserMessage("a"), Note(None)]), "messages[1]", "content must hold"),
        (ChatResponse(Generation(AssistantMessage([Marked("b"), "c"]))), "results[0].output.content[0]", "not Marked"),
    ],
    ids=[
        "none",
        "int",
        "text",
        "dict",
        "dicts",
        "texts",
        "broken",
        "prompt",
        "part",
        "call",
        "response",
        "options",
        "own message",
        "output",
    ],
)
def test_what_cannot_be_stored_is_named_by_its_path(value: Any, path: str, words: str) -> None:
    with pytest.raises(SerializationError, match=words) as caught:
        dumps(value)
    assert caught.value.path == path
