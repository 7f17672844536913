from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given

from promptkit._frozen import EMPTY, FrozenDict
from promptkit.content import Content, Media, Reasoning, Text
from promptkit.errors import PromptError, ToolError
from promptkit.messages import (
    AssistantMessage,
    BuiltinMessage,
    InvalidToolCall,
    Message,
    MessageType,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
    as_builtin,
    check_message,
    with_text,
)
from promptkit.prompt import Prompt
from tests import strategies

PNG = Media(b"\x89PNG\r\n\x1a\n")
CALL = ToolCall("c1", "weather", arguments={"city": "Oslo"})
RESULT = ToolResponse("c1", "weather", content="3 degrees")


@frozen
class Signed(UserMessage):
    """A message class of an application, made of ours."""

    signature: str = ""


class Note:
    """A message class of an application, all its own."""

    def __init__(self, role: MessageType, content: Any, **fields: Any) -> None:
        self.message_type = role
        self.content = content
        self.metadata: Mapping[str, Any] = {}
        vars(self).update(fields)


def broken() -> Iterator[Any]:
    yield CALL
    raise OSError("the disk is gone")


@given(strategies.messages())
def test_messages_are_values(message: BuiltinMessage) -> None:
    again = pickle.loads(pickle.dumps(message))

    assert again == copy.deepcopy(message) == copy.copy(message) == message.mutate() == message
    assert hash(again) == hash(message)
    assert as_builtin(message) is message
    assert check_message(message, "message") is message
    assert isinstance(message.metadata, FrozenDict)
    assert message.mutate(id="other") != message or message.id == "other"


@given(strategies.messages(), strategies.messages())
def test_equal_messages_hash_alike(one: BuiltinMessage, two: BuiltinMessage) -> None:
    assert one != two or hash(one) == hash(two)
    assert one != two.mutate(metadata={"only": "here"})


@pytest.mark.parametrize("kind", [SystemMessage, UserMessage, AssistantMessage], ids=lambda kind: kind.__name__)
def test_defaults_cost_nothing(kind: type[UserMessage]) -> None:
    message = kind("hi")

    assert (message.metadata, message.name, message.id) == ({}, None, None)
    assert message.metadata is EMPTY
    assert sys.getsizeof(UserMessage("hi")) <= 96
    assert not hasattr(message, "__dict__")
    with pytest.raises(AttributeError):
        message.content = "changed"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (UserMessage("hi"), "UserMessage('hi')"),
        (SystemMessage("hi", name="n", metadata={"k": 1}), "SystemMessage('hi', metadata={'k': 1}, name='n')"),
        (
            AssistantMessage(None, tool_calls=[CALL]),
            "AssistantMessage(None, tool_calls=(ToolCall('c1', 'weather', arguments='{\"city\":\"Oslo\"}'),))",
        ),
        (ToolResponseMessage(RESULT), "ToolResponseMessage((ToolResponse('c1', 'weather', content='3 degrees'),))"),
        (UserMessage(["see", PNG]), "UserMessage((Text('see'), Media(<8 bytes>, 'image/png')))"),
    ],
    ids=["user", "system", "calls", "results", "media"],
)
def test_messages_show_what_is_set(message: Message, shown: str) -> None:
    assert repr(message) == shown


def test_types_are_their_wire_names() -> None:
    assert [SystemMessage("").message_type, UserMessage("").message_type] == ["system", "user"]
    assert f"{AssistantMessage().message_type} {ToolResponseMessage(RESULT).message_type}" == "assistant tool"
    assert MessageType("tool") is MessageType.TOOL


# Content


@pytest.mark.parametrize(
    ("content", "text", "media"),
    [
        ("hi", "hi", ()),
        ("  \n", "  \n", ()),
        (["What is ", PNG, "this?"], "What is this?", (PNG,)),
        (PNG, "", (PNG,)),
        ([Reasoning("hm"), "yes"], "yes", ()),
        ([], "", ()),
    ],
    ids=["text", "blank", "interleaved", "media", "reasoning", "nothing"],
)
def test_text_and_media_are_views(content: Any, text: str, media: tuple[Media, ...]) -> None:
    for kind in (SystemMessage, UserMessage, AssistantMessage):
        message = kind(content)
        assert (message.text, message.media) == (text, media)


def test_only_an_assistant_may_say_nothing() -> None:
    assert AssistantMessage().content is AssistantMessage(None).text is None
    assert AssistantMessage(tool_calls=CALL).media == ()  # type: ignore[arg-type]
    for kind in (SystemMessage, UserMessage):
        with pytest.raises(PromptError, match=r"^content must hold .* not None$"):
            kind(None)  # type: ignore[arg-type]


def test_results_speak_for_the_message() -> None:
    message = ToolResponseMessage([RESULT, ToolResponse("c2", content=["see", PNG])])

    assert (message.content, message.text, message.media) == ("", "", (PNG,))
    assert [response.text for response in message.responses] == ["3 degrees", "see"]


@pytest.mark.parametrize(
    ("content", "changed"),
    [
        ("old", "new"),
        ([PNG, "old", Text("older", metadata={"k": 1})], (PNG, Text("new"))),
        ([Text("old", metadata={"k": 1}), PNG, "older"], (Text("new", metadata={"k": 1}), PNG)),
        ([PNG], (Text("new"), PNG)),
        ([Reasoning("hm")], (Text("new"), Reasoning("hm"))),
    ],
    ids=["text", "after", "before", "media", "reasoning"],
)
def test_with_text_keeps_all_the_rest(content: Any, changed: Content) -> None:
    message = AssistantMessage(content, tool_calls=[CALL], metadata={"k": 1}, name="n", id="i")

    assert message.with_text("new") == message.mutate(content=changed)
    assert with_text(message, "new") == message.with_text("new")
    assert AssistantMessage(tool_calls=[CALL]).with_text("new").content == "new"


# Tool calls


def test_arguments_are_kept_as_they_came() -> None:
    assert ToolCall("c", "f", arguments='{"a": 1.0,\n"b":"\\u00e9"}').arguments == '{"a": 1.0,\n"b":"\\u00e9"}'
    assert (
        ToolCall("c", "f", arguments={"é": [1, None], "b": "x\ud83e"}).arguments
        == '{"\\u00e9":[1,null],"b":"x\\ud83e"}'
    )
    assert ToolCall("c", "f").arguments == "{}"
    assert ToolCall("c", "f", arguments=" \n").parsed_arguments == {}
    assert ToolCall("c", "f", arguments='{"a": [1, {"b": "é"}]}').parsed_arguments == {"a": [1, {"b": "é"}]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"a": "b', "Unterminated string"),
        ("[1]", "are a JSON list, not an object"),
        ("null", "are a JSON NoneType, not an object"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": ' + "9" * 5000 + "}", "4300"),
        ('{"a": ' + "[" * 100_000, "nests too deep"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "nests deeper than 100 levels"),
    ],
    ids=["cut", "list", "null", "nan", "huge", "deep", "deepish"],
)
def test_broken_arguments_are_a_typed_error(arguments: str, words: str) -> None:
    with pytest.raises(ToolError, match=rf"^the call 'c1' of 'weather' cannot be read: .*{words}") as caught:
        _ = ToolCall("c1", "weather", arguments=arguments).parsed_arguments
    assert caught.value.tool_name == "weather"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ToolCall("c", ""), r"^ToolCall\.name is empty"),
        (lambda: ToolCall("c", None), r"^ToolCall\.name must be a str, not None$"),  # type: ignore[arg-type]
        (lambda: ToolCall(5, "f"), r"^ToolCall\.id must be a str, not 5$"),  # type: ignore[arg-type]
        (lambda: ToolCall("c", "f", arguments=None), r"^ToolCall\.arguments must be JSON text or a mapping"),  # type: ignore[arg-type]
        (lambda: ToolCall("c", "f", arguments=[1]), r"^ToolCall\.arguments must be JSON text or a mapping"),  # type: ignore[arg-type]
        (lambda: ToolCall("c", "f", arguments={1: 2}), r"^ToolCall\.arguments: the key must be a str, not 1$"),  # type: ignore[dict-item]
        (lambda: ToolCall("c", "f", arguments={"a": {1}}), r"^ToolCall\.arguments\.a is \{1\} of the type set"),
        (lambda: ToolCall("c", "f", arguments={"a": b""}), r"^ToolCall\.arguments cannot be written as JSON"),
        (lambda: ToolCall("c", "f", arguments={"a": float("nan")}), r"^ToolCall\.arguments\.a is nan"),
        (lambda: ToolCall("c", "f", metadata=None), r"^ToolCall\.metadata must be a mapping, not None$"),  # type: ignore[arg-type]
        (lambda: InvalidToolCall("c", 5), r"^InvalidToolCall\.name must be a str, not 5$"),  # type: ignore[arg-type]
        (lambda: ToolResponse(5), r"^ToolResponse\.id must be a str, not 5$"),  # type: ignore[arg-type]
        (lambda: ToolResponse("c", content=None), "^content must hold"),  # type: ignore[arg-type]
        (lambda: ToolResponse("c", status="ok"), r"^ToolResponse\.status must be 'success' or 'error', not 'ok'$"),  # type: ignore[arg-type]
        (lambda: ToolResponse("c", artifact=object()), r"^ToolResponse\.artifact is <object"),
        (lambda: ToolResponseMessage([]), "^responses is empty"),
        (lambda: ToolResponseMessage(None), "^responses must hold ToolResponse objects, not None$"),  # type: ignore[arg-type]
        (lambda: ToolResponseMessage([RESULT, CALL]), r"^responses\[1\] is no ToolResponse: ToolCall"),  # type: ignore[list-item]
        (lambda: AssistantMessage(tool_calls=None), "^tool_calls must hold ToolCall objects, not None$"),  # type: ignore[arg-type]
        (lambda: AssistantMessage(tool_calls=[{"id": "c"}]), r"^tool_calls\[0\] is no ToolCall: \{'id': 'c'\}$"),  # type: ignore[list-item]
        (lambda: AssistantMessage(tool_calls=broken()), "^tool_calls cannot be read: OSError: the disk is gone$"),
        (lambda: AssistantMessage(invalid_tool_calls=[CALL]), r"^invalid_tool_calls\[0\] is no InvalidToolCall"),  # type: ignore[list-item]
        (lambda: UserMessage("hi", metadata={"a": float("inf")}), r"^UserMessage\.metadata\.a is inf"),
        (lambda: SystemMessage("hi", metadata=5), r"^SystemMessage\.metadata must be a mapping, not 5$"),  # type: ignore[arg-type]
        (lambda: UserMessage("hi", name=5), r"^UserMessage\.name must be a str, not 5$"),  # type: ignore[arg-type]
        (lambda: ToolResponseMessage(RESULT, id=b"i"), r"^ToolResponseMessage\.id must be a str, not b'i'$"),  # type: ignore[arg-type]
    ],
)
def test_wrong_fields_are_refused_by_name(make: Any, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        make()


def test_an_error_without_words_is_none() -> None:
    assert InvalidToolCall("c", "f", error="").error is None


def test_sequences_are_copied() -> None:
    calls = [CALL]
    content: list[str | Media] = ["a", PNG]
    message = AssistantMessage(content, tool_calls=calls)
    calls.clear()
    content.clear()

    assert message == AssistantMessage(("a", PNG), tool_calls=(CALL,))
    assert AssistantMessage(tool_calls=iter([CALL])).tool_calls == (CALL,)


def test_size_is_no_matter() -> None:
    text = "é" * 5_000_000

    assert UserMessage(text).text is text
    assert UserMessage([text, PNG], metadata={"long": text}).metadata["long"] is text


# Message classes of users


def test_a_subclass_stays_what_it_is_and_leaves_as_ours() -> None:
    signed = Signed("hi", id="i", metadata={"k": 1}, signature="s")

    assert signed != UserMessage("hi", id="i", metadata={"k": 1})
    assert signed.with_text("new") == Signed("new", id="i", metadata={"k": 1}, signature="s")
    assert Prompt(signed)[0] is signed
    assert as_builtin(signed) == UserMessage("hi", id="i", metadata={"k": 1})


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (Note(MessageType.SYSTEM, "be brief"), SystemMessage("be brief")),
        (Note(MessageType.USER, ["see", PNG], name="Ada", extra=1), UserMessage(["see", PNG], name="Ada")),
        (Note(MessageType.ASSISTANT, None, tool_calls=[CALL]), AssistantMessage(tool_calls=[CALL])),
        (Note(MessageType.TOOL, "", responses=[RESULT]), ToolResponseMessage([RESULT])),
    ],
    ids=lambda value: value.message_type.value,
)
def test_a_class_of_its_own_leaves_as_ours(note: Any, message: Message) -> None:
    assert Prompt([note])[0] is note
    assert as_builtin(note) == message


def test_a_class_of_its_own_must_fit() -> None:
    for note, words in (
        (Note(MessageType.TOOL, ""), "^Note has the role 'tool' but no responses$"),
        (Note(MessageType.USER, None), "^content must hold"),
        (Note("user", "hi"), "its message_type is no MessageType$"),  # type: ignore[arg-type]
    ):
        with pytest.raises(PromptError, match=words):
            as_builtin(note)
    with pytest.raises(PromptError, match="a ToolResponseMessage has no text of its own"):
        with_text(ToolResponseMessage(RESULT), "new")
    assert with_text(Note(MessageType.USER, "old"), "new") == UserMessage("new")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"role": "user", "content": "hi"}, "^here is a mapping, not a message: write UserMessage"),
        ("hi", "^here must be a message, not 'hi'; text alone is UserMessage"),
        (None, "^here must be a message, not None; text alone"),
        (5, "^here must be a message, not 5: it has no message_type, content, metadata$"),
        (CALL, "it has no message_type, content$"),
    ],
    ids=str,
)
def test_what_is_no_message_is_refused(value: Any, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        check_message(value, "here")
