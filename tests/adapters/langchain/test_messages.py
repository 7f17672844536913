from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given

from promptkit.adapters.langchain import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    ImagePromptValue,
    RemoveMessage,
    StringPromptValue,
    SystemMessage,
    ToolMessage,
    add_usage,
    subtract_usage,
)
from promptkit.adapters.langchain.prompt_values import ChatPromptValue, ChatPromptValueConcrete, ImageURL, PromptValue
from promptkit.errors import PromptError
from tests.adapters.langchain.strategies import messages

CALL: Any = {"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}
USAGE: Any = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


class Loud(str):
    """Be a str that is not quite one."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.upper()


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a misspelt field": (lambda: HumanMessage("x", nmae="bob"), TypeError, "nmae"),  # type: ignore[call-arg]
    "content that is no text": (lambda: HumanMessage(3), PromptError, r"HumanMessage\.content must be a str"),  # type: ignore[arg-type]
    "no content": (SystemMessage, PromptError, r"SystemMessage\.content must be a str .* not None"),
    "content bytes": (lambda: HumanMessage(b"x"), PromptError, r"HumanMessage\.content"),  # type: ignore[arg-type]
    "one block": (lambda: HumanMessage({"type": "text"}), PromptError, r"HumanMessage\.content"),
    "a block that is a number": (lambda: HumanMessage(["x", 3]), PromptError, r"HumanMessage\.content\[1\]"),  # type: ignore[list-item]
    "an object in a block": (
        lambda: HumanMessage([{"type": "x", "y": [object()]}]),
        PromptError,
        r"HumanMessage\.content\[0\]\['y'\]\[0\]|content\[0\]\.y\[0\]",
    ),
    "both contents": (
        lambda: HumanMessage("x", content_blocks=[]),
        PromptError,
        "HumanMessage takes content or content_blocks, not both",
    ),
    "a name that is no text": (lambda: HumanMessage("x", name=3), PromptError, r"HumanMessage\.name must be a str"),  # type: ignore[arg-type]
    "an id that is no text": (lambda: HumanMessage("x", id=[1]), PromptError, r"HumanMessage\.id must be a str"),  # type: ignore[arg-type]
    "an id that is a bool": (lambda: HumanMessage("x", id=True), PromptError, r"HumanMessage\.id must be a str"),
    "a call without name": (lambda: AIMessage("", tool_calls=[{"args": {}, "id": "1"}]), PromptError, r"tool_calls\[0\]"),  # type: ignore[typeddict-item]
    "arguments that are text": (
        lambda: AIMessage("", tool_calls=[{"name": "f", "args": "{}", "id": "1"}]),  # type: ignore[typeddict-item]
        PromptError,
        r"tool_calls\[0\]",
    ),
    "a call's name that is a number": (lambda: AIMessage("", tool_calls=[CALL | {"name": 3}]), PromptError, r"tool_calls\[0\]\['name'\] must be a str or None, not 3"),
    "a call that is text": (lambda: AIMessage("", tool_calls=["f"]), PromptError, r"tool_calls\[0\] must be a mapping, not 'f'"),  # type: ignore[list-item]
    "calls that are text": (lambda: AIMessage("", tool_calls="f"), PromptError, "tool_calls must be a list of mappings"),  # type: ignore[arg-type]
    "an index that is none": (
        lambda: AIMessageChunk("", tool_call_chunks=[{"name": "f", "args": "", "id": "1", "index": [0]}]),  # type: ignore[typeddict-item]
        PromptError,
        r"tool_call_chunks\[0\]\['index'\] must be an int or None",
    ),
    "details of text": (
        lambda: AIMessage("", usage_metadata=USAGE | {"input_token_details": {"audio": "1"}}),
        PromptError,
        r"usage_metadata\['input_token_details'\] must map names to ints",
    ),
    "no image": (lambda: ImagePromptValue({"url": ""}), PromptError, r"image_url\['url'\] must be a non-empty str"),
    "more than an image": (lambda: ImagePromptValue({"url": "u", "alt": "x"}), PromptError, "has only 'url' and 'detail'"),
    "messages that are text": (lambda: ChatPromptValue("hi"), PromptError, "must be a list of messages"),  # type: ignore[arg-type]
    "usage of text": (lambda: AIMessage("", usage_metadata={"input_tokens": "1"}), PromptError, "usage_metadata"),  # type: ignore[arg-type]
    "no call's id": (lambda: ToolMessage("x"), TypeError, "tool_call_id"),  # type: ignore[call-arg]
    "a call's id that is none": (
        lambda: ToolMessage("x", tool_call_id=None),  # type: ignore[arg-type]
        PromptError,
        r"ToolMessage\.tool_call_id must be a str",
    ),
    "an unknown status": (lambda: ToolMessage("x", tool_call_id="1", status="ok"), PromptError, r"ToolMessage\.status"),  # type: ignore[arg-type]
    "a result that is no JSON": (lambda: ToolMessage(object(), tool_call_id="1"), PromptError, "cannot be written as JSON"),
    "no function's name": (lambda: FunctionMessage("x"), TypeError, "name"),  # type: ignore[call-arg]
    "a function's name that is none": (lambda: FunctionMessage("x", name=None), PromptError, r"FunctionMessage\.name"),  # type: ignore[arg-type]
    "no role": (lambda: ChatMessage("x"), TypeError, "role"),  # type: ignore[call-arg]
    "a role that is a number": (lambda: ChatMessage("x", role=1), PromptError, r"ChatMessage\.role must be a str"),  # type: ignore[arg-type]
    "nothing to remove": (RemoveMessage, PromptError, r"RemoveMessage\.id must be the id"),
    "content to remove": (lambda: RemoveMessage("1", content="x"), PromptError, "RemoveMessage has no content"),
    "an unknown position": (lambda: AIMessageChunk("", chunk_position="first"), PromptError, "chunk_position must be 'last'"),  # type: ignore[arg-type]
    "the base": (lambda: BaseMessage("x"), TypeError, "BaseMessage is abstract"),
    "the base of prompt values": (PromptValue, TypeError, "abstract"),
    "a prompt value of bytes": (lambda: StringPromptValue(b"x"), PromptError, "StringPromptValue"),  # type: ignore[arg-type]
    "a detail that is none": (lambda: ImagePromptValue({"url": "u", "detail": "max"}), PromptError, "detail"),
    "a message that is none": (lambda: ChatPromptValue(["hi"]), PromptError, r"messages\[0\]"),  # type: ignore[list-item]
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_message_is_refused_with_its_place(case: str) -> None:
    make, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        make()


def test_ids_that_are_numbers_become_text() -> None:
    number = UUID("12345678123456781234567812345678")

    assert HumanMessage("x", id=7).id == "7"
    assert ToolMessage("x", tool_call_id=4.5).tool_call_id == "4.5"
    assert ToolMessage("x", tool_call_id=number).tool_call_id == str(number)


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("text", "text"),
        (None, ""),
        (True, "true"),
        ({"a": None}, '{"a":null}'),
        ([1, None, "x", {"type": "text"}, ["y"]], ("1", "", "x", {"type": "text"}, '["y"]')),
        (("a", "b"), ("a", "b")),
    ],
    ids=repr,
)
def test_what_a_tool_gives_becomes_json(given: Any, content: Any) -> None:
    assert ToolMessage(given, tool_call_id="1").content == content


@given(messages())
def test_messages_are_values(message: BaseMessage) -> None:
    again = pickle.loads(pickle.dumps(message))

    assert again == message
    assert copy.deepcopy(message) is message or copy.deepcopy(message) == message
    assert hash(again) == hash(message)
    assert eval(repr(message), {kind.__name__: kind for kind in type(message).__mro__}) == message
    assert message.mutate() == message
    for name in ("content", "id", "unknown"):
        with pytest.raises(AttributeError):
            setattr(message, name, "x")


def test_what_goes_in_is_not_shared() -> None:
    blocks = [{"type": "text", "text": "x", "list": [1]}]
    message = AIMessage(blocks, tool_calls=[dict(CALL)], additional_kwargs=(kwargs := {"k": [1]}))  # type: ignore[list-item]
    blocks[0]["text"] = "y"
    kwargs["k"].append(2)

    assert message.text == "x"
    assert message.additional_kwargs == {"k": (1,)}


def test_a_class_of_text_becomes_plain_text() -> None:
    loud = Loud("a")
    message = AIMessage(loud, name=loud, id=loud, tool_calls=[{"name": loud, "args": {"k": loud}, "id": loud}])
    call = message.tool_calls[0]

    assert {type(text) for text in (message.content, message.name, message.id, call["name"], call["id"])} == {str}
    assert message == AIMessage("a", name="a", id="a", tool_calls=[{"name": "a", "args": {"k": "a"}, "id": "a"}])
    assert ToolMessage(loud, tool_call_id=loud) == ToolMessage("a", tool_call_id="a")


def test_equal_classes_and_fields_are_equal_messages() -> None:
    same: list[BaseMessage] = [HumanMessage("x"), HumanMessage("x")]
    assert same[0] == same[1]
    assert same[0] != [SystemMessage("x")][0]
    assert AIMessage("x", tool_calls=[CALL]) != AIMessage("x")
    assert len({HumanMessage("x"), HumanMessage("x"), HumanMessage("y")}) == 2


def test_calls_of_openai_and_of_blocks_become_tool_calls() -> None:
    openai = {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}]}
    broken = {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}]}

    assert AIMessage("", additional_kwargs=openai).tool_calls == [
        {"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}
    ]
    assert AIMessage("", additional_kwargs=broken).invalid_tool_calls[0]["args"] == "{"
    assert AIMessage("", additional_kwargs=openai, tool_calls=[]).tool_calls == ()
    assert AIMessage(content_blocks=[{"type": "tool_call", **CALL}]).tool_calls[0]["name"] == "weather"


def test_arguments_as_deep_as_json_gets_are_no_crash() -> None:
    deep = "[" * 100_000
    message = AIMessage(
        "", additional_kwargs={"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": deep}}]}
    )

    assert message.invalid_tool_calls[0]["args"] == deep


BLOCKS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "text": ("hi", [{"type": "text", "text": "hi"}]),
    "no text": ("", []),
    "text among blocks": (["hi"], [{"type": "text", "text": "hi"}]),
    "OpenAI's image": (
        [{"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}],
        [{"type": "image", "url": "https://e.org/a.png"}],
    ),
    "OpenAI's image data": (
        [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}],
        [{"type": "image", "base64": "iVBO", "mime_type": "image/png"}],
    ),
    "an older block": (
        [{"type": "image", "source_type": "base64", "data": "iVBO", "mime_type": "image/png"}],
        [{"type": "image", "base64": "iVBO", "mime_type": "image/png"}],
    ),
    "an unknown block": (
        [{"type": "hologram", "x": 1}],
        [{"type": "non_standard", "value": {"type": "hologram", "x": 1}}],
    ),
    "a block without type": ([{"x": 1}], [{"type": "non_standard", "value": {"x": 1}}]),
    "a standard block": ([{"type": "reasoning", "reasoning": "hm"}], [{"type": "reasoning", "reasoning": "hm"}]),
}


@pytest.mark.parametrize("case", BLOCKS)
def test_content_blocks_are_in_the_standard_form(case: str) -> None:
    content, blocks = BLOCKS[case]
    found = [
        {key: value for key, value in block.items() if not (key == "id" and str(value).startswith("lc_"))}
        for block in HumanMessage(content).content_blocks
    ]
    assert found == blocks


def test_reasoning_comes_first_and_calls_last_among_the_blocks_of_an_answer() -> None:
    message = AIMessage("hi", additional_kwargs={"reasoning_content": "hm"}, tool_calls=[CALL])

    assert [block["type"] for block in message.content_blocks] == ["reasoning", "text", "tool_call"]


def test_text_is_that_of_strings_and_text_blocks() -> None:
    assert HumanMessage(["a", {"type": "text", "text": "b"}, {"type": "x", "text": "c"}, {"text": "d"}]).text == "ab"
    assert HumanMessage([{"type": "text"}, {"type": "text", "text": None}]).text == ""


def test_a_message_prints_under_a_title(capsys: pytest.CaptureFixture[str]) -> None:
    AIMessage("hi", name="bot", tool_calls=[CALL]).pretty_print()

    lines = capsys.readouterr().out.splitlines()
    assert len(lines[0]) == 80
    assert lines[0].strip("=") == " Ai Message "
    assert lines[1:] == [
        "Name: bot", "", "hi", "Tool Calls:", "  weather (c1)", " Call ID: c1", "  Args:", "    city: Oslo",
    ]  # fmt: skip


def test_prompt_values_give_text_and_messages() -> None:
    chat = ChatPromptValue([HumanMessage("hi"), AIMessage("yo")])

    assert StringPromptValue("hi").to_messages() == [HumanMessage("hi")]
    assert chat.to_string() == "Human: hi\nAI: yo"
    assert chat.to_messages() == [HumanMessage("hi"), AIMessage("yo")]
    assert ImagePromptValue(ImageURL(url="u", detail="low")).to_messages() == [
        HumanMessage([{"type": "image_url", "image_url": {"url": "u", "detail": "low"}}])
    ]
    assert ImagePromptValue({"url": "u"}).to_string() == "u"


def test_a_concrete_prompt_value_takes_the_known_classes_only() -> None:
    class Own(HumanMessage):
        pass

    assert ChatPromptValueConcrete([HumanMessage("hi")]).to_string() == "Human: hi"
    with pytest.raises(PromptError, match=r"messages\[0\]"):
        ChatPromptValueConcrete([Own("hi")])


def test_prompt_values_hand_out_lists_of_their_own() -> None:
    value = ChatPromptValue([HumanMessage("hi")])
    value.to_messages().clear()

    assert len(value.to_messages()) == 1


def test_usage_is_added_and_taken_away_by_kind() -> None:
    one: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "input_token_details": {"cache_read": 1}}
    two: Any = {"input_tokens": 1, "output_tokens": 0, "total_tokens": 1, "output_token_details": {"reasoning": 2}}

    both = add_usage(one, two)

    assert both["input_token_details"] == {"cache_read": 1}
    assert both["output_token_details"] == {"reasoning": 2}
    assert both["total_tokens"] == 4
    assert subtract_usage(two, one)["output_tokens"] == 0
    assert add_usage(None, one) == one == add_usage(one, None)


@pytest.mark.parametrize("function", [add_usage, subtract_usage])
def test_what_is_no_usage_is_refused(function: Any) -> None:
    deep: Any = {}
    deep["x"] = deep
    one = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    for wrong, problem in ((3, "usage must be a mapping, not 3"), ([1], "usage must be"), (deep, "nests deeper than")):
        for pair in ((wrong, one), (one, wrong), (wrong, None)):
            with pytest.raises(PromptError, match=problem):
                function(*pair)
